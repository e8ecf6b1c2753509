"""Set-up and self-checks. They run before any package is installed."""
