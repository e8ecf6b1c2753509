"""What this program asks of the operating system."""
