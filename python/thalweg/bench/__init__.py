"""Transports measured between two processes, as ratios to the limits of the machine in the same run."""
