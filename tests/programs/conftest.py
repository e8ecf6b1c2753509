"""Makes Acme importable for all tests of this folder."""

import compat  # noqa: F401
