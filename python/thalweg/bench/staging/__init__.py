"""The synthetic workflow: writers, readers and second readers over one 3-D domain, through staging or files."""
