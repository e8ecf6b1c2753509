"""What all tests need of the process that they run in."""

import signal

# A shell that starts `make test &` has SIGINT ignored in it and in what it
# starts, which then has no Ctrl-C to be tested.
signal.signal(signal.SIGINT, signal.default_int_handler)
