# burnish from a fresh clone: all that is needed is make and Python 3.11 to 3.14 with venv and pip.
#
#   make demo         install, start everything, ask eight questions about examples/   (ALL=1: ask them all)
#   make install      make .venv, with everything that burnish needs, and start nothing
#   make test         linter, types, import contracts, and the tests on servers that they start themselves
#   make check        the same without the tests
#   make bench        the benchmarks
#   make down         stop what `make demo` started; its data stay
#   make clean        stop it, and delete the environment and the data
#
# PYTHON=python3.13 names another Python. The data are in .burnish/, or in BURNISH_HOME if that is set.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BURNISH := $(BIN)/burnish

# uv takes the Python that it is given, and fetches none. Compiled once here, the code starts quickly from then on.
export UV_PYTHON_DOWNLOADS := never
export UV_COMPILE_BYTECODE := 1
export UV_PROJECT_ENVIRONMENT := $(VENV)
export UV_NO_PROGRESS := 1
unexport VIRTUAL_ENV

.DEFAULT_GOAL := help
.PHONY: help install install-dev demo test check format bench down clean

help:
	@sed -n 's/^#   make/make/p' Makefile

install: $(VENV)/installed
install-dev: $(VENV)/installed-dev

demo: install
	@$(BURNISH) fetch-model
	@$(BURNISH) demo $(if $(ALL),--all) $(if $(AGAIN),--again)

test: check
	$(BIN)/pytest

check: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: install-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python -m benchmarks $(BENCH)

down:
	@if [ -x $(BURNISH) ]; then $(BURNISH) down; fi

clean: down
	rm -rf $(VENV) .burnish .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# uv itself lives in the same environment, so what is not in the lock (uv) is left there: --inexact.
$(VENV)/installed: $(BIN)/uv pyproject.toml uv.lock
	$(BIN)/uv sync --frozen --all-extras --no-dev --inexact --python $(BIN)/python
	@touch $@

$(VENV)/installed-dev: $(BIN)/uv pyproject.toml uv.lock
	$(BIN)/uv sync --frozen --all-extras --inexact --python $(BIN)/python
	@touch $@ $(VENV)/installed

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' || { \
	  echo "burnish needs Python 3.11 to 3.14, and '$(PYTHON)' is none of them."; \
	  echo "Name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'
