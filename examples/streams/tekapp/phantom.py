"""The Shepp-Logan head in three dimensions: its slices, and its projections as integrals over ellipses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

#: Density, half axes a b c, centre x y z, angle in degrees; in a cube from -1 to 1 (Toft's densities, for contrast).
_ELLIPSOIDS = np.array(
    [
        (1.0, 0.6900, 0.920, 0.810, 0.00, 0.0000, 0.00, 0),
        (-0.8, 0.6624, 0.874, 0.780, 0.00, -0.0184, 0.00, 0),
        (-0.2, 0.1100, 0.310, 0.220, 0.22, 0.0000, 0.00, -18),
        (-0.2, 0.1600, 0.410, 0.280, -0.22, 0.0000, 0.00, 18),
        (0.1, 0.2100, 0.250, 0.410, 0.00, 0.3500, 0.00, 0),
        (0.1, 0.0460, 0.046, 0.050, 0.00, 0.1000, 0.00, 0),
        (0.1, 0.0460, 0.046, 0.050, 0.00, -0.1000, 0.00, 0),
        (0.1, 0.0460, 0.023, 0.050, -0.08, -0.6050, 0.00, 0),
        (0.1, 0.0230, 0.023, 0.020, 0.00, -0.6060, 0.00, 0),
        (0.1, 0.0230, 0.046, 0.020, 0.06, -0.6050, 0.00, 0),
    ]
)
_HEIGHT = 0.3


def centres(count: int, half: float = 1.0) -> npt.NDArray[np.float64]:
    """Return the centres of `count` cells from -half to half."""
    return half * ((2 * np.arange(count) + 1) / count - 1)


def head(slices: int, pixels: int) -> Array:
    """Return the densities, shape (slices, pixels, pixels): z, y, x; z is near the middle, where all parts are."""
    z, y, x = centres(slices, _HEIGHT)[:, None, None], centres(pixels)[:, None], centres(pixels)
    image = np.zeros((slices, pixels, pixels), np.float32)
    for density, a, b, c, x0, y0, z0, degrees in _ELLIPSOIDS:
        cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        along, across = (x - x0) * cos + (y - y0) * sin, (y - y0) * cos - (x - x0) * sin
        image += density * ((along / a) ** 2 + (across / b) ** 2 + ((z - z0) / c) ** 2 <= 1)
    return image


def projection(slices: int, bins: int, angle: float) -> Array:
    """Return line integrals of the densities, shape (slices, bins); the detector is turned by `angle`."""
    z, s = centres(slices, _HEIGHT)[:, None], centres(bins)
    found = np.zeros((slices, bins), np.float64)
    for density, a, b, c, x0, y0, z0, degrees in _ELLIPSOIDS:
        turned = angle - np.radians(degrees)
        size = np.clip(1 - ((z - z0) / c) ** 2, 0, None)  # of the ellipse in this slice, squared
        width = size * ((a * np.cos(turned)) ** 2 + (b * np.sin(turned)) ** 2)
        offset = s - x0 * np.cos(angle) - y0 * np.sin(angle)
        inside = np.clip(width - offset**2, 0, None)
        found += 2 * density * a * b * size * np.sqrt(inside) / np.maximum(width, 1e-12)
    return found.astype(np.float32)
