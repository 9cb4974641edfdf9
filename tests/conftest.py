"""What holds for every test."""

from __future__ import annotations

import signal

# Where the runner was started in the background, Ctrl-C is ignored, by its children too: the tests send it to them.
signal.signal(signal.SIGINT, signal.default_int_handler)
