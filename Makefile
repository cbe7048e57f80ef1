# What a person types. `make help` lists it; scripts/setup says what is installed and why.

PYTHON := .venv/bin/python
# Passed on to the command: make run ARGS="--out DIR"
ARGS ?=

.PHONY: help run build test soak lint format bench wheels docs clean

help:            ## this list
	@sed -n 's/^\([a-z]*\): *[a-z]* *## */  make \1\t/p' Makefile | expand -t 16

run:             ## set up what is missing, then measure: netsonde quickstart
	@scripts/setup
	@.venv/bin/netsonde quickstart $(ARGS)
	@command -v netsonde >/dev/null || echo 'To call netsonde in this shell: . .venv/bin/activate'

build:           ## set up and build all of it, run nothing
	@scripts/setup build

test:            ## set up what is missing, then every check and every test
	@scripts/setup test
	@$(PYTHON) scripts/checks.py all

soak:            ## what takes longer: sanitizers, every kill, a full cluster for a minute
	@scripts/setup test
	@$(PYTHON) scripts/checks.py soak

lint:            ## style and types, and clang-tidy over the engine
	@scripts/setup test
	@$(PYTHON) scripts/checks.py lint

format:          ## bring all sources into the form that lint wants
	@scripts/setup test
	@.venv/bin/ruff check --quiet --select I --fix .
	@.venv/bin/ruff format --quiet .
	@find engine tests/engine -name '*.[ch]pp' -exec .venv/bin/clang-format -i {} +

bench:           ## side by side with iperf3, nuttcp, sockperf, NetPIPE
	@scripts/setup bench
	@$(PYTHON) -m bench $(ARGS)

wheels:          ## what is installed without a compiler, and the sources, in dist/
	@scripts/setup build
	@$(PYTHON) scripts/wheels.py $(ARGS)

docs:            ## the documentation as a site, in site/
	@scripts/setup test
	@$(PYTHON) scripts/reference.py
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet --strict

clean:           ## remove what was built; .venv and runs are kept
	@rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
