"""The multi-component I/O benchmark: SCALE and LETKF exchange history and analysis in every cycle."""
