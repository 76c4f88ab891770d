# Two commands on a fresh machine: make serve, make test. They need Python 3.11 or newer and make.
PYTHON ?= python3
BIN = .venv/bin
# Two at once, a file each: many tests wait for a browser, a server or a scheduler.
TEST = $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: serve test check bench audit answers browser editor

.venv/made: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Wallclock needs Python 3.11 or newer; name one with make PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/made-for-tests: .venv/made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

serve: .venv/made
	$(BIN)/wallclock serve

browser: .venv/made-for-tests
	$(BIN)/python -m tests.browser.install

test: browser
	$(TEST)

check: browser
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/wallclock lint
	$(TEST)

bench: .venv/made-for-tests
	$(BIN)/python -m tests.bench

answers: .venv/made-for-tests
	$(BIN)/python -m tests.answers

audit: browser
	$(BIN)/python -m tests.audit

# Needs Node and npm. The recipe has exact versions, so the same file comes out: `git diff` shows nothing.
editor:
	mkdir -p build/editor
	cp static/vendor/editor/* build/editor/
	cd build/editor && npm ci --ignore-scripts --no-audit --no-fund && npm run build
	cp build/editor/codemirror.js static/vendor/codemirror.js
