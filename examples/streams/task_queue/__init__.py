"""A queue of tasks as Colmena has it: one thinker, workers that compute, inputs and results of several sizes."""
