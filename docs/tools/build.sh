#!/usr/bin/env bash
# Builds the documentation into site/. In strict mode, a warning is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# A separate environment, so that no run and no test depends on these packages.
readonly ENVIRONMENT=.venv-docs

.venv/bin/python -m docs.tools.tables
[[ -x $ENVIRONMENT/bin/python ]] ||
  .venv/bin/uv venv --quiet --python .venv/bin/python "$ENVIRONMENT"
.venv/bin/uv pip sync --quiet --python "$ENVIRONMENT/bin/python" \
  --require-hashes tools/docs.lock
# Without this, the theme prints a page about its future plans.
NO_MKDOCS_2_WARNING=1 "$ENVIRONMENT/bin/mkdocs" build --quiet
echo "$PWD/site/index.html"
