# make book   execute the notebooks (only what changed) and build the HTML book
# make test   style, unit tests, and validation of every notebook
# See CONTRIBUTING.md for the others.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
HTML := _build/book/_build/html

# Data beside the checkout, where there are any (see wavy.data for where else data may come from).
SHARED := $(abspath ../shared)
ifneq ($(wildcard $(SHARED)/data),)
export WAVY_DATA ?= $(SHARED)/data
endif
# Idle threads sleep instead of spinning, so that two jobs on two cores do not slow each other many times over.
export OMP_WAIT_POLICY ?= passive

# Files of tests and notebooks side by side, one thread each.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile

.PHONY: book test check-book reference lock benchmark gpu gpu-bundle gpu-dry-run clean
.DELETE_ON_ERROR:

book: $(INSTALLED)
	$(BIN)/wavy execute
	$(BIN)/jupyter-book build . --path-output _build/book -W -n --keep-going --all --quiet
	@echo "the book lies at $(abspath $(HTML))/index.html"

test: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(PYTEST) -m "not book"
	$(PYTEST) --nbval notebooks

# What only the built pages can show: addresses, offline use, launch buttons.
check-book: $(INSTALLED)
	$(PYTEST) -m book

# The only thing that rewrites the committed notebooks: look at the diff before you commit it.
reference: $(INSTALLED)
	$(BIN)/wavy reference

# Time and memory beside the stock models, about half an hour on a quiet machine; adds rows to results/benchmarks.jsonl.
benchmark: $(INSTALLED)
	$(BIN)/python -m benchmarks

# New versions: resolve pyproject.toml anew, for every platform, with hashes.
lock: $(INSTALLED)
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-annotate --no-header --quiet --output-file requirements.lock
	$(BIN)/python -m wavy.companion.environment > environment.yml

# What a GPU machine without a network lacks: wheels, data, the commit. HAVE names a list of packages that are there.
gpu-bundle: $(INSTALLED)
	$(BIN)/python -m wavy.companion.gpu.bundle $(if $(HAVE),--have $(HAVE))

# On that machine: all studies at scale gpu in MINUTES; rows, executed notebooks and logs come to OUT.
OUT ?= _build/gpu-out
MINUTES ?= 9
gpu:
	$(PYTHON) wavy/companion/gpu/machine.py --out $(OUT) --minutes $(MINUTES)

# The same at scale quick on the CPU, in a copy of the working tree: rows of a dry run are no results. Nothing is brought
# along, so the bundle is empty: packages and data are those of this machine.
gpu-dry-run: $(INSTALLED)
	rm -rf _build/gpu-dry-run && mkdir -p _build/gpu-dry-run/tree _build/gpu-dry-run/bundle
	git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory _build/gpu-dry-run/tree
	cd _build/gpu-dry-run/tree && $(abspath $(BIN))/python wavy/companion/gpu/machine.py \
	  --bundle $(abspath _build/gpu-dry-run/bundle) --out $(abspath _build/gpu-dry-run/out) \
	  --scale quick --device cpu --jobs 1 --minutes 25

clean:
	rm -rf _build

# pip installs into the environment from outside, so Debian's python3 without ensurepip will do.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 12) else \
	  f"wavy needs Python 3.11 or 3.12, found {v[0]}.{v[1]}; choose one with make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip .venv
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --require-hashes -r requirements.lock
	$(PYTHON) -m pip --python $(BIN)/python install --quiet --no-deps --no-build-isolation --editable .
	touch $@
