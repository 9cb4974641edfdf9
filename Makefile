# The two commands of a newcomer: `make setup`, `make demo`. Logic stands in scripts/, one idea a file.
.DEFAULT_GOAL := help
.PHONY: help setup demo test bench lint languages install clean
PREFIX ?= /usr/local

help:
	@printf '%s\n' \
	  'make setup   system packages, virtual environment, native build (quick when nothing changed)' \
	  'make demo    the main job: a solver streams fields to a trainer; report in runs/demo' \
	  'make test    format, lint, types, Rust tests, Python tests' \
	  'make bench   every benchmark at a small size; results in bench-results' \
	  'make lint    format, lint and types only' \
  'make languages   the libraries and headers for C, C++, Fortran and Kokkos, in build/languages' \
  'make install     the same into PREFIX (PREFIX=/usr/local)' \
	  'make clean   remove what was built (.venv, target, runs, bench-results)'

setup:
	@scripts/setup

demo: setup
	@.venv/bin/thalweg demo

test: setup
	@scripts/test

bench: setup
	@scripts/bench

lint: setup
	@scripts/lint

languages:
	@scripts/languages

install:
	@scripts/languages "$(PREFIX)"

clean:
	rm -rf .venv target build runs bench-results .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/thalweg/_native*.so
	find python tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
