"""Matrix multiplication: plain (MatMulSimple2D), or with factors and transposes (MatMulGeneral, GEMM)."""

from __future__ import annotations

from thalweg.kernels.kernel import KernelOptions, Setup
from thalweg.kernels.on_device import OnDevice


class MatMulSimple2D(OnDevice):
    """C = A B with A (n, m), B (m, n); `data_size` is n or [n, m]. 2 n m n operations."""

    axes = (1, 2)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        n, m = setup.data_size if len(setup.data_size) == 2 else setup.data_size * 2
        self._a, self._b, self._c = setup.random((n, m), 0), setup.random((m, n), 1), setup.random((n, n), 2)
        self._cost = ((2 * n * m + n * n) * setup.dtype.itemsize, 2 * n * m * n)

    def work(self) -> tuple[int, int]:
        self._setup.device.matmul(self._a, self._b, self._c)
        return self._cost


class GemmOptions(KernelOptions):
    """Options of MatMulGeneral."""

    alpha: float = 1.0
    beta: float = 0.0
    transpose_a: bool = False
    transpose_b: bool = False


class MatMulGeneral(OnDevice):
    """C = alpha op(A) op(B) + beta C with op(A) (m, k), op(B) (k, n); `data_size` is [m, n, k].

    2 m n k + 3 m n operations. C starts anew from the same numbers in each call, so that it stays finite.
    """

    Options = GemmOptions
    axes = (3,)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        m, n, k = setup.data_size
        options: GemmOptions = setup.options
        a = setup.random((k, m) if options.transpose_a else (m, k), 0)
        b = setup.random((n, k) if options.transpose_b else (k, n), 1)
        device = setup.device
        self._a = device.transposed(a) if options.transpose_a else a
        self._b = device.transposed(b) if options.transpose_b else b
        self._c, self._product = setup.random((m, n), 2), setup.random((m, n), 2)
        self._alpha, self._beta = options.alpha, options.beta
        self._cost = ((m * k + k * n + 2 * m * n) * setup.dtype.itemsize, 2 * m * n * k + 3 * m * n)

    def work(self) -> tuple[int, int]:
        device = self._setup.device
        device.matmul(self._a, self._b, self._product)
        device.scale_add(self._beta, self._c, self._alpha, self._product)
        return self._cost
