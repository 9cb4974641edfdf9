"""Short names of runs that stand side by side: what differs."""

from __future__ import annotations

from collections.abc import Sequence


def told_apart(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return what tells runs apart, such as ``routing, seed``, and a label for each that says no more than that.

    Names of a sweep are parts between commas, a file and then ``key=value``; other names are left as they are, and
    what tells them apart is empty.

    Examples
    --------
    >>> told_apart(["torus,routing=minimal,seed=1", "torus,routing=valiant,seed=1"])
    ('routing', ['minimal', 'valiant'])
    >>> told_apart(["milc-cont-min", "milc-rand-par"])
    ('', ['milc-cont-min', 'milc-rand-par'])
    """
    parts = [name.split(",") for name in names]
    if len({len(own) for own in parts}) != 1 or len(names) < 2:
        return "", list(names)
    differ = [place for place in range(len(parts[0])) if len({own[place] for own in parts}) > 1]
    keys = {tuple(own[place].rpartition("=")[0] for place in differ) for own in parts}
    if len(keys) != 1:
        return "", list(names)
    return ", ".join(filter(None, keys.pop())), [
        ", ".join(own[place].rpartition("=")[2] for place in differ) for own in parts
    ]
