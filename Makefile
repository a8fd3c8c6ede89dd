# Everything runs by one word. Each sets itself up first; after that nothing here needs a network.

PYTHON ?= python3
BIN := .venv/bin
UV := 0.13.9
INSTALLED := .venv/installed
PYRIGHT := .venv/pyright-installed
ARGS ?=
# A process for each core; a file's tests stay together, since they share a server or a page.
TESTS = $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

# pyright's PyPI package fetches the program itself at its first run: kept inside the environment.
export PYRIGHT_PYTHON_CACHE_DIR := $(CURDIR)/.venv/pyright
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export UV_PROJECT_ENVIRONMENT := .venv

.PHONY: demo chat test full check lint types docs mutants bench pictures setup clean

demo: $(INSTALLED) ## the example clinic in the browser, at the address that is printed; ARGS="desk.py --open"
	$(BIN)/falai demo $(ARGS)

chat: $(INSTALLED) ## the same in the terminal; ARGS="--model openai:gpt-5-mini"
	$(BIN)/falai chat $(ARGS)

test: setup ## the default tests; ARGS="-k name" goes to pytest
	$(TESTS) $(ARGS)

full: setup ## the long form of every test
	$(TESTS) --full $(ARGS)

check: lint types docs test ## all that a change has to pass

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED) $(PYRIGHT)
	$(BIN)/pyright
	$(BIN)/mypy

docs: $(INSTALLED) ## the documentation, into docs/_build/html
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

mutants: $(INSTALLED) ## which one-line faults of turn/ the tests notice; goes on where it was stopped
	$(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut results

bench: $(INSTALLED) ## what a turn, its prompts, a model call, a store and a host cost beside their floors, how large a session grows, how late timers are; 1 when over a limit
	$(BIN)/python -m benchmarks

pictures: $(INSTALLED) ## the pictures of the playground, into docs/pictures; needs Debian's chromium
	PYTHONPATH=tests $(BIN)/python -m web.browser.pictures

setup: $(INSTALLED) $(PYRIGHT)

$(INSTALLED): pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit("falai needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say: make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv==$(UV)
	$(BIN)/uv sync --quiet --frozen --inexact
	@touch $@

$(PYRIGHT): $(INSTALLED)
	@$(BIN)/pyright --version
	@touch $@

clean:
	rm -rf .venv docs/_build mutants .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
