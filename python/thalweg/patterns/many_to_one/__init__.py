"""Many solvers and one trainer that blocks for all of them: the second pattern of the SimAI-Bench paper."""
