# Two commands on a fresh machine: make serve, make test. They need Python 3.11 or newer and make.
#   make quick   the tests but for browsers, Slurm, PostgreSQL, killed servers, sieges and full sweeps: two minutes
#   make test    all of them: about twelve minutes on two cores
#   make again   those that failed the last time, one after the other
#   make check   format, lint, types, words and the proof of every exercise: a minute and a half
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
# The same versions everywhere. The variables are for what builds the package, in older and newer versions of pip.
CONSTRAINTS = constraints.txt
INSTALL = PIP_CONSTRAINT=$(CONSTRAINTS) PIP_BUILD_CONSTRAINT=$(CONSTRAINTS) \
  $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint $(CONSTRAINTS)
# Four workers on two cores, a file each, the slowest first: many tests wait for something.
# REQUIRE names what must be there, so that no test is left out for lack of it: --require=browser --require=nginx ...
TEST = $(BIN)/python -m pytest -n 4 $(REQUIRE)

# The tests start a hundred servers and ranks, which need not compile all of it again each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: advisories serve test again quick newest torch constraints check style types words lint translations core bench audit answers \
  mutate browser peers editor

$(VENV)/made: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("Wallclock needs Python 3.11 or newer; name one with make PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/made-for-tests: $(VENV)/made
	$(INSTALL) --editable '.[test]'
	touch $@

serve: $(VENV)/made
	$(BIN)/wallclock serve

browser: $(VENV)/made-for-tests
	$(BIN)/python -m tests.browser.install

peers: $(VENV)/made-for-tests
	$(BIN)/python -m tests.federation.install

test: browser
	$(TEST)

again: browser
	$(BIN)/python -m pytest -rp --last-failed --last-failed-no-failures=none --maxfail=1

quick: $(VENV)/made-for-tests
	$(TEST) -n 2 -m 'not slow and not sweep'

# The tests with the newest versions that pyproject.toml admits. CONTRIBUTING.md says when, and what TORCH is for.
newest:
	rm -rf .venv-newest
	$(MAKE) VENV=.venv-newest CONSTRAINTS=/dev/null $(if $(TORCH),torch) test

torch: $(VENV)/made-for-tests
	$(INSTALL) torch==$(TORCH)

# Resolves pyproject.toml for every Python that it admits. The builds of torch that need CUDA's packages are not used.
constraints:
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --quiet --quiet --disable-pip-version-check uv
	build/uv/bin/uv pip compile pyproject.toml --extra people --extra postgres --extra test --group peers --universal \
	  --python-version 3.11 --no-annotate --custom-compile-command 'make constraints' --quiet --no-config --upgrade \
	  | grep --invert-match --extended-regexp '^(nvidia|cuda|triton)' > build/constraints.txt
	mv build/constraints.txt constraints.txt

check: $(VENV)/made-for-tests
	$(MAKE) --silent --jobs=2 --keep-going --output-sync types style words lint

style: $(VENV)/made-for-tests
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet

types: $(VENV)/made-for-tests
	$(BIN)/mypy --no-error-summary

words: $(VENV)/made-for-tests
	$(BIN)/codespell

# Its notes are for authors: here they are shown with errors only. CI sets LINT=--fresh: no proof of before counts.
lint: $(VENV)/made-for-tests
	said=$$($(BIN)/wallclock lint $(LINT) 2>&1) || { echo "$$said"; exit 1; }

# Before a release: it finds the sentences in templates, Python and scripts, and fails while any has no translation.
translations: $(VENV)/made-for-tests
	$(BIN)/python -m tests.translations

# The wheel of the arithmetic alone, wallclock-core, in dist/.
core: $(VENV)/made-for-tests
	cd deploy/core && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist

# What everything costs; ROW=page: only the rows with that in their names.
bench: $(VENV)/made-for-tests
	$(BIN)/python -m tests.bench $(ROW)

# Small faults in a module, one at a time, and those that the nearest tests do not see.
mutate: $(VENV)/made-for-tests
	$(BIN)/python -m tools.mutation $(MODULE) $(if $(TESTS),--tests $(TESTS)) $(if $(SAMPLE),--sample $(SAMPLE))

answers: $(VENV)/made-for-tests
	$(BIN)/python -m tests.answers

audit: browser
	$(BIN)/python -m tools.audit

# It installs pip-audit apart from the rest, and says so where no database of advisories can be reached.
advisories: $(VENV)/made-for-tests
	$(BIN)/python -m tools.advisories

# Needs Node and npm. The recipe has exact versions, so the same file comes out: `git diff` shows nothing.
editor:
	mkdir -p build/editor
	cp static/vendor/editor/* build/editor/
	cd build/editor && npm ci --ignore-scripts --no-audit --no-fund && npm run build
	cp build/editor/codemirror.js build/editor/codemirror-yaml.js static/vendor/
