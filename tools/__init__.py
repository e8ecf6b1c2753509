"""Set-up and self-checks; these run before any package is installed."""
