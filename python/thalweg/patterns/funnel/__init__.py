"""A funnel in the style of machine-learning docking: a surrogate chooses which candidates are worth a simulation."""
