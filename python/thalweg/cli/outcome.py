"""What a command's end looks like from outside: an exit status, one clear message, no traceback of a known error."""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec

import typer

from thalweg.errors import ConfigError, FolderInUseError, InvalidError, MissingLibraryError, ThalwegError

FAILED = 1
MISUSED = 2
INTERRUPTED = 130

P = ParamSpec("P")


def command(body: Callable[P, None]) -> Callable[P, None]:
    """Give a command its exit status: 0 done, 1 failed, 2 wrong use or configuration, 130 interrupted.

    SIGTERM ends a command as Ctrl-C does, so that whatever it started is stopped.
    """

    @functools.wraps(body)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            body(*args, **kwargs)
            sys.stdout.flush()
        except KeyboardInterrupt:
            _end("interrupted", INTERRUPTED)
        except BrokenPipeError:  # the reader of our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (ConfigError, InvalidError, MissingLibraryError, FolderInUseError) as error:
            _end(f"error: {error}", MISUSED)
        except ThalwegError as error:
            _end(f"error: {error}", FAILED)

    # Help is read as rich's markup, to which `[components]` would be a style: brackets of the docstring are text.
    guarded.__doc__ = re.sub(r"(\[[a-zA-Z#/@][^\[\]]*\])", r"\\\1", body.__doc__ or "")
    return guarded


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _end(message: str, status: int) -> NoReturn:
    print(f"thalweg: {message}", file=sys.stderr)
    raise typer.Exit(status) from None
