"""A flow solver whose running fields train a surrogate on line."""
