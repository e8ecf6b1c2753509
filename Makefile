# The commands that people and CI type. `make` alone lists them.

SHELL := /bin/bash
# The flags that the targets pass on: make run ARGS='--num_actors=4'
ARGS ?=
# The extras whose packages requirements.lock holds.
EXTRAS := envs ray test video wandb

PYTHON := .venv/bin/python
# The tests of a file share what they start, so one process runs them all.
PYTEST := $(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help setup run test thorough learn peers lint format lock docs doctor

help:  ## Lists these targets.
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 16

setup:  ## Finds or fetches CPython 3.10 and installs everything into .venv.
	@bash tools/setup.sh

run: setup  ## Trains an agent. With flags: make run ARGS='--num_actors=4'
	@$(PYTHON) launch.py $(ARGS)

test: setup  ## Runs the tests. With options: make test ARGS='-k container'
	@$(PYTEST) $(ARGS)

thorough: setup  ## Runs the long tests, which `make test` leaves out.
	@$(PYTEST) -m long $(ARGS)

learn: setup  ## Has every agent learn, with 3 seeds, and prints the returns.
	@$(PYTHON) -m benchmarks.learn $(ARGS)

peers: setup  ## Installs what benchmarks.single_machine compares to: 6 GB.
	@bash tools/peers.sh

lint: setup  ## Checks style, as CI does.
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .

format: setup  ## Corrects style.
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

lock: setup  ## Renews the lock files from setup.cfg and pyproject.toml.
	@bash tools/lock.sh $(EXTRAS)

docs: setup  ## Builds the documentation into site/.
	@bash docs/tools/build.sh

doctor:  ## Checks machine and packages, and says how to correct what is wrong.
	@if [ -x $(PYTHON) ]; then $(PYTHON) -m tools.doctor; \
	  else echo 'Nothing is installed yet: type `make setup`.' >&2; exit 1; fi
