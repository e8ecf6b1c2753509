#!/usr/bin/env bash
# Builds the documentation into site/, in strict mode: a warning is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# An environment of its own, so that no run and no test depends on these packages.
readonly ENVIRONMENT=.venv-docs

.venv/bin/python -m docs.tools.tables
[[ -x $ENVIRONMENT/bin/python ]] ||
  .venv/bin/uv venv --quiet --python .venv/bin/python "$ENVIRONMENT"
.venv/bin/uv pip sync --quiet --python "$ENVIRONMENT/bin/python" \
  --require-hashes tools/docs.lock
# The theme would have a page of its own plans printed.
NO_MKDOCS_2_WARNING=1 "$ENVIRONMENT/bin/mkdocs" build --quiet
echo "$PWD/site/index.html"
