"""Arrays in other layouts: the same elements, with other axes next to each other in memory."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def relayout(
    array: npt.NDArray[Any],
    out: npt.NDArray[Any] | None = None,
    *,
    order: str | Sequence[int] | None = None,
    threads: int = 1,
) -> npt.NDArray[Any]:
    """Copy an array into another layout; shape, axes and values stay what they are.

    Blocks until the copy is done; the GIL is released meanwhile.

    Parameters
    ----------
    array : ndarray, any shape of up to 8 axes and any strides
        What is copied; every type but Python objects.
    out : ndarray of the same shape and dtype, optional
        Where it is copied to, in the layout that this array has: a view, ``other.transpose(...)``, a slice.
        Default: a new packed array in `order`.
    order : {"C", "F"} or sequence of int, optional
        Layout of a new array: the last axis fastest (``"C"``, the default), the first axis fastest (``"F"``), or all
        axes as they shall lie in memory, slowest first.
    threads : int, 1 to 1024
        At most so many threads copy, this one among them.

    Returns
    -------
    ndarray
        `out`, or the new array.

    Raises
    ------
    ShapeError, DTypeError
        When `out` does not agree with `array`; for Python objects; for more than 8 axes.
    AccessError
        When `out` is read-only.
    InvalidError
        When `out` shares memory with `array` or with itself; for an order or a number of threads that is none.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import relayout
    >>> field = np.arange(24.0).reshape(2, 3, 4)
    >>> relayout(field, order="F").flags.f_contiguous
    True
    >>> middle_last = relayout(field, order=(0, 2, 1))
    >>> bool((middle_last == field).all()), middle_last.strides
    (True, (96, 8, 24))
    """
    import numpy as np

    from thalweg import _native

    source = np.asarray(array)
    if out is None:
        target = _empty(source, "C" if order is None else order)
    elif order is None:
        target = out
    else:
        raise InvalidError("relayout: out and order are both given; the layout is that of out, leave order out")
    if not isinstance(target, np.ndarray):
        raise InvalidError(f"relayout: out is a {type(target).__name__}; give a NumPy array")
    try:
        count = operator.index(threads)
    except TypeError:
        count = 0
    if count < 1:
        raise InvalidError(f"relayout: threads is {threads!r}; accepted are 1 to 1024")
    _native.relayout(source, target, count)
    return target


def _empty(like: npt.NDArray[Any], order: str | Sequence[int]) -> npt.NDArray[Any]:
    """A new array whose axes lie in memory in some order."""
    import numpy as np

    if isinstance(order, str) and order in ("C", "F"):
        return np.empty(like.shape, like.dtype, order="C" if order == "C" else "F")
    if isinstance(order, str) or sorted(order) != list(range(like.ndim)):
        raise InvalidError(
            f'relayout: order is {order!r}; accepted are "C", "F", or the {like.ndim} axes, each once, slowest first'
        )
    packed: np.ndarray[Any, Any] = np.empty([like.shape[axis] for axis in order], like.dtype)
    return packed.transpose(np.argsort(order))
