#!/usr/bin/env bash
# Renews the lock files. The arguments are the extras of setup.cfg to include.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compile() {
  .venv/bin/uv pip compile --quiet --upgrade --generate-hashes \
    --python .venv/bin/python --python-platform x86_64-unknown-linux-gnu \
    --custom-compile-command 'make lock' "$@"
}

compile setup.cfg "${@/#/--extra=}" --output-file requirements.lock
# In a file of its own, since few users need it, and it needs an older
# python-dateutil.
compile setup.cfg --extra=vertex --output-file tools/vertex.lock \
  --constraint <(sed 's/^python-dateutil==[^ ]*/python-dateutil/' requirements.lock)
# In a file of its own, since the docs are built in an environment of their own.
compile --group docs --output-file tools/docs.lock
# The peers of benchmarks.single_machine have environments of their own.
for peer in benchmarks/peers/*.in; do
  compile "$peer" --output-file "${peer%.in}.lock"
done
# In a file of its own, since uv is installed first and installs the rest.
compile - --output-file tools/uv.lock <<<'uv'
