#!/usr/bin/env bash
# Renews the lock files; the arguments are the extras of setup.cfg to include.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compile() {
  .venv/bin/uv pip compile --quiet --upgrade --generate-hashes \
    --python .venv/bin/python --python-platform x86_64-unknown-linux-gnu \
    --custom-compile-command 'make lock' "$@"
}

compile setup.cfg "${@/#/--extra=}" --output-file requirements.lock
# Apart, since few need it, and it wants an older python-dateutil.
compile setup.cfg --extra=vertex --output-file tools/vertex.lock \
  --constraint <(sed 's/^python-dateutil==[^ ]*/python-dateutil/' requirements.lock)
# Apart, as an environment of its own has them.
compile --group docs --output-file tools/docs.lock
# Apart, since uv must be there before it can install the rest.
compile - --output-file tools/uv.lock <<<'uv'
