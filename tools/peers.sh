#!/usr/bin/env bash
# Makes an environment in .peers for each peer of benchmarks.single_machine. They
# need 6 GB, since PyTorch comes with the libraries of CUDA.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for lock in benchmarks/peers/*.lock; do
  name=$(basename "$lock" .lock)
  # Contains the lock file that the environment was made from.
  stamp=.peers/$name/made
  if [[ -f $stamp ]] && cmp --silent "$stamp" "$lock"; then
    continue
  fi
  echo "peers: installing $name" >&2
  rm -rf ".peers/$name"
  .venv/bin/uv venv --quiet --python .venv/bin/python ".peers/$name"
  .venv/bin/uv pip install --quiet --compile-bytecode --require-hashes \
    --python ".peers/$name/bin/python" --requirement "$lock"
  cp "$lock" "$stamp"
done
