"""One solver and one trainer, coupled asynchronously: the first pattern of the SimAI-Bench paper."""
