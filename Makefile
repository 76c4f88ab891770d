# Two commands on a fresh machine: make serve, make test. They need Python 3.11 or newer and make.
#   make quick   the tests but for browsers, Slurm, PostgreSQL, killed servers and sieges: a minute
#   make test    all of them: about six minutes on two cores
#   make again   those that failed the last time, one after the other
#   make check   format, lint, types, words and the proof of every exercise: a minute and a half
PYTHON ?= python3
BIN = .venv/bin
# Four workers on two cores, a file each, the slowest first: many tests wait for something.
TEST = $(BIN)/python -m pytest -n 4

# The tests start a hundred servers and ranks, which need not compile all of it again each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: serve test again quick check style types words lint translations bench audit answers browser peers editor

.venv/made: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Wallclock needs Python 3.11 or newer; name one with make PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable .
	touch $@

.venv/made-for-tests: .venv/made
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

serve: .venv/made
	$(BIN)/wallclock serve

browser: .venv/made-for-tests
	$(BIN)/python -m tests.browser.install

peers: .venv/made-for-tests
	$(BIN)/python -m tests.federation.install

test: browser
	$(TEST)

again: browser
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures=none --maxfail=1

quick: .venv/made-for-tests
	$(TEST) -n 2 -m 'not slow'

check: .venv/made-for-tests
	$(MAKE) --silent --jobs=2 --keep-going --output-sync types style words lint

style: .venv/made-for-tests
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

types: .venv/made-for-tests
	$(BIN)/mypy --no-error-summary

words: .venv/made-for-tests
	$(BIN)/codespell

# Its notes are for authors: here they are shown with errors only.
lint: .venv/made-for-tests
	said=$$($(BIN)/wallclock lint 2>&1) || { echo "$$said"; exit 1; }

# After a change of sentences: it finds them in templates, Python and scripts, and says which have no translation.
translations: .venv/made-for-tests
	$(BIN)/python -m tests.translations

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
