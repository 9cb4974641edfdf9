"""The figures that SimAI-Bench's authors published.

"In-Transit Data Transport Strategies for Coupled AI-Simulation Workflow Patterns", tables 2 and 3.
"""

from __future__ import annotations

# Table 2: solver time steps, solver transfers, trainer time steps, trainer transfers
EVENTS = {"paper, original": (10108, 203, 5000, 208), "paper, mini-app": (10507, 211, 5000, 208)}
# Table 3: solver mean and standard deviation, trainer mean and standard deviation, in seconds
TIMES = {"paper, original": (0.0312, 0.0273, 0.0611, 0.1), "paper, mini-app": (0.0325, 0.0011, 0.0633, 0.0017)}
