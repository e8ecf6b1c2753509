#!/usr/bin/env bash
# Makes .venv from requirements.lock. Returns at once if that has been done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly PYTHON=.venv/bin/python
# Exists during an installation. An installation that was killed leaves it.
readonly UNFINISHED=.venv/unfinished
# Contains the output of `key` from the last set-up that succeeded.
readonly STAMP=.venv/set-up
readonly WAIT_SECONDS=1800

main() {
  check_machine
  if is_done; then
    return
  fi
  # This file is the lock: it needs no clean-up, and a kill releases it.
  exec 9<tools/setup.sh
  flock --wait "$WAIT_SECONDS" 9 ||
    fail "Another set-up of $PWD has been running for $WAIT_SECONDS s: end it," \
      'then repeat this command.'
  if is_done; then
    return
  fi
  make_environment
  install_packages ||
    fail 'The packages could not be installed, for the reason above; repeat' \
      'this command once it is mended.'
  rm "$UNFINISHED"
  key >"$STAMP.new"
  mv "$STAMP.new" "$STAMP"
  say 'Ready.'
}

say() { echo "set-up: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

check_machine() {
  local machine
  machine="$(uname -s) $(uname -m)"
  if [[ $machine != 'Linux x86_64' ]]; then
    fail "This needs Linux on x86-64, for which alone Launchpad and Reverb are" \
      "released, and this machine is $machine: use such a machine or container."
  fi
}

is_done() {
  [[ -f $STAMP && ! -e $UNFINISHED && $(<"$STAMP") == "$(key)" ]] &&
    is_python_3_10 "$PYTHON"
}

# Prints a hash of all that a set-up depends on. The folder is part of it, since
# an environment's scripts contain its path.
key() {
  {
    cat requirements.lock tools/uv.lock setup.cfg pyproject.toml
    pwd -P
    readlink -f "$PYTHON"
  } | sha256sum
}

is_python_3_10() {
  "$1" -ISc 'import sys; sys.exit(sys.version_info[:2] != (3, 10))' \
    >/dev/null 2>&1
}

make_environment() {
  if is_python_3_10 "$PYTHON" && [[ ! -e $UNFINISHED ]]; then
    touch "$UNFINISHED"
    return
  fi
  local python
  python=$(find_python) || python=$(fetch_python) ||
    fail 'No CPython 3.10 is here, and none could be fetched: install one with' \
      'its venv module (python3.10 and python3.10-venv, or pyenv install 3.10)' \
      'so that `python3.10` runs, then repeat this command.'
  say "Making .venv with $python"
  # The interpreter is removed first, so that an interrupted removal leaves no
  # usable environment.
  rm -rf .venv/bin
  rm -rf .venv
  mkdir .venv
  touch "$UNFINISHED"
  "$python" -m venv .venv
}

# Prints the path of a CPython 3.10 that is on this machine.
find_python() {
  local root candidate
  local candidates=(python3.10 python3 python)
  # pyenv's commands work only if a version is chosen, so its folders are tried.
  for root in "${PYENV_ROOT:-}" "${HOME:-}/.pyenv" \
    "$(pyenv root 2>/dev/null || true)"; do
    candidates+=("$root"/versions/3.10*/bin/python3.10)
  done
  for candidate in "${candidates[@]}"; do
    if print_interpreter "$candidate" 2>/dev/null; then
      return
    fi
  done
  return 1
}

# Prints the interpreter behind $1, if an environment can be made with it.
print_interpreter() {
  "$1" -Ic '
import ensurepip, platform, sys, venv
usable = (platform.python_implementation(), platform.machine())
if sys.version_info[:2] != (3, 10) or usable != ("CPython", "x86_64"):
  sys.exit(1)
print(sys._base_executable)'
}

# Makes uv fetch a CPython 3.10, or find the one that it fetched before.
fetch_python() {
  local uv scratch
  scratch=$(mktemp -d)
  # Expanded now, since `scratch` is no longer set when the shell exits.
  # shellcheck disable=SC2064
  trap "rm -rf '$scratch'" EXIT
  if ! uv=$(command -v uv); then
    say 'No CPython 3.10 is here; getting uv to fetch one'
    python3 -m venv "$scratch" >&2 &&
      "$scratch/bin/python" -m pip install --quiet --require-hashes \
        --requirement tools/uv.lock >&2 || return 1
    uv=$scratch/bin/uv
  fi
  export UV_PYTHON_PREFERENCE=only-managed
  "$uv" python install 3.10 >&2 && "$uv" python find --no-project 3.10
}

install_packages() {
  local install=("$PYTHON" -m pip install)
  # An environment that uv made has no pip.
  "$PYTHON" -m ensurepip >/dev/null
  if "${install[@]}" --quiet --require-hashes --requirement tools/uv.lock; then
    # Many containers forbid Python to write bytecode. Without the compilation
    # here, each process would compile all modules that it imports.
    install=(.venv/bin/uv pip install --compile-bytecode --python "$PYTHON")
  else
    say 'uv cannot be had here: pip installs the packages, which takes longer'
  fi
  say 'Installing the packages of requirements.lock'
  "${install[@]}" --quiet --require-hashes --requirement requirements.lock &&
    "${install[@]}" --quiet --no-deps --no-build-isolation --editable .
}

main
