"""What all tests here need: Acme, made to import."""

import compat  # noqa: F401
