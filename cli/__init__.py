"""What each verb of `launch.py` does, and the flags."""
