"""Kernels that stand for the work of a real code."""

from __future__ import annotations

from thalweg.kernels.kernel import Cost, Kernel, KernelOptions, Setup
from thalweg.kernels.registry import kernel, kernel_class, kernel_names, make_kernel

__all__ = ["Cost", "Kernel", "KernelOptions", "Setup", "kernel", "kernel_class", "kernel_names", "make_kernel"]
