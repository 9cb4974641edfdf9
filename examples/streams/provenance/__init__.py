"""Provenance as Flowcept captures it: many producers tell what they do while they work, in buffers that they flush."""
