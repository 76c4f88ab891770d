# Two commands on a fresh machine: make serve, make test.
PYTHON ?= python3
BIN = .venv/bin

.PHONY: test

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

test: .venv/ready
	$(BIN)/python -m pytest --ignore=app/kinds
