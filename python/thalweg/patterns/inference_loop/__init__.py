"""Solvers that ask a model in every few iterations and wait for its answer."""
