# Every target sets up what it needs first; see CONTRIBUTING.md.
#
#   ARGS    arguments passed on:  make demo ARGS='--seconds 20 --no-viewer'
#   PYTHON  interpreter that the virtual environment is made with

PYTHON ?= python3
ARGS ?=
VENV := .venv
BENCH_VENV := .venv-bench

.DEFAULT_GOAL := help
.PHONY: help setup setup-bench python demo test lint format docs bench bench-ros clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "vr_ik needs Python 3.10 or newer, and $(PYTHON) is not: $$($(PYTHON) --version 2>&1)." \
	    "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }

setup: python  ## make .venv with everything in it (the other targets do it too)
	@$(PYTHON) tools/make_venv.py $(VENV)

setup-bench: python
	@$(PYTHON) tools/make_venv.py --bench $(BENCH_VENV)

demo: setup  ## a simulated VR user through the real ROS 2 nodes, shown in a browser
	@$(VENV)/bin/vr_ik demo $(ARGS)

test: setup  ## run every test
	@$(VENV)/bin/python -m pytest -n 2 --dist loadfile $(ARGS)

lint: setup  ## check format, style and types
	@$(VENV)/bin/ruff format --quiet --check
	@$(VENV)/bin/ruff check --quiet
	@$(VENV)/bin/mypy --no-error-summary

format: setup  ## bring the sources into format
	@$(VENV)/bin/ruff check --quiet --fix-only
	@$(VENV)/bin/ruff format --quiet

docs: setup  ## bring the tables of the README and docs up to date
	@$(VENV)/bin/python tools/readme_tables.py

bench: setup-bench  ## measure the solvers beside their peers, write bench.json
	@env -u PYTHONPATH $(BENCH_VENV)/bin/python -m vr_ik.evaluation.bench $(ARGS)

bench-ros: setup  ## measure the way of a frame through the nodes, write bench_ros.json
	@$(VENV)/bin/python -m vr_ik.evaluation.bench_ros $(ARGS)

clean:  ## remove everything that make has made
	rm -rf $(VENV) $(BENCH_VENV) build install log bench.json bench_ros.json *.egg-info .hypothesis .benchmarks \
	  .mypy_cache .pytest_cache .ruff_cache
	find vr_ik test tools launch compat -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
