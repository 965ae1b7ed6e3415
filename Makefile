# A fresh machine needs Python 3.11 or newer, make and the package index: `make demo` and `make test` do the rest.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
# Written last: an environment without it was interrupted while it was made, and is made again.
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
SOURCES := .
SEEDS ?= 1000
LOCKED := --universal --generate-hashes --python-version 3.11 --quiet --custom-compile-command "make lock"

.PHONY: demo test bench chaos simulate mutations check lint format lock clean help
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(READY) ## kill an agent in the middle of its work and watch the task finish (about a minute)
	@$(BIN)/python -m examples.demo $(ARGS)

test: $(READY) ## every test suite, each within its time budget
	@$(BIN)/python tests/suites.py

bench: $(READY) ## measure on this machine, beside the direct agent; ARGS=--quick takes a minute
	@$(BIN)/python -m benchmarks $(ARGS)

chaos: $(READY) ## two minutes of kills and stops under twenty clients, judged; ARGS="--net --minutes 30 --seed 7"
	@$(BIN)/python -m tests.chaos.storm $(ARGS)

simulate: $(READY) ## SEEDS=1000 worlds whose every fault follows from a seed; ARGS="--first 5000 --workers 1"
	@$(BIN)/python -m tests.simulation.simulate --seeds $(SEEDS) $(ARGS)

mutations: $(READY) ## break every rule on purpose and see which promise notices; ARGS='--only "no pre-vote"'
	@$(BIN)/python -m tests.simulation.mutations $(ARGS)

check: lint test ## everything that CI runs: format, lint, types, import contracts, tests

lint: $(READY) ## format, lint, types and import contracts; changes nothing
	@$(BIN)/ruff format --quiet --check $(SOURCES) || { echo "format: run 'make format'"; exit 1; }
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > $(VENV)/lint-imports.log || { cat $(VENV)/lint-imports.log; exit 1; }
	@echo "lint: format, style, types and import contracts hold"

format: $(READY) ## write the sources as the formatter wants them, and what pages draw from tables
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/python -m tests.architecture.readme
	@$(BIN)/python -m tests.architecture.drawings

lock: $(READY) ## write the lock files from pyproject.toml; newer releases with ARGS=--upgrade
	@$(PIP) install 'uv>=0.9'
	@$(BIN)/uv pip compile pyproject.toml --group dev $(LOCKED) $(ARGS) -o requirements.lock
	@$(BIN)/uv pip compile pyproject.toml -c requirements.lock $(LOCKED) $(ARGS) -o requirements-runtime.lock

clean: ## remove what was made: environment, caches, coverage
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* dist build
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found. Say make PYTHON=/path/to/python3"; exit 1; }
	@echo "making $(VENV) with $$($(PYTHON) -V) from requirements.lock (once, about a minute) ..."
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes --no-deps -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $(READY)
