"""From projections to images: SIRT on a sparse matrix, total variation against noise, how far from the truth."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tekapp.phantom import Array, centres


class Sirt:
    """Simultaneous iterative reconstruction: x += C At R (b - A x), C and R one over the sums of columns and rows of A.

    Slices are columns, so that one product of the matrix serves all of them.
    """

    def __init__(self, slices: int, pixels: int) -> None:
        self._pixels = pixels
        x, y = centres(pixels), centres(pixels)[:, None]
        self._seen = np.flatnonzero(x**2 + y**2 <= 1)  # other pixels are not in every projection
        self._x = np.broadcast_to(x, (pixels, pixels)).ravel()[self._seen]
        self._y = np.broadcast_to(y, (pixels, pixels)).ravel()[self._seen]
        self._image = np.zeros((len(self._seen), slices), np.float32)

    def improve(self, angles: list[float], projections: Array, iterations: int) -> Array:
        """Iterate over a window of projections, shape (angles, slices, pixels); return (slices, pixels, pixels)."""
        matrix = self._matrix(angles)
        back = matrix.T.tocsr()
        rows = 1 / np.maximum(np.asarray(matrix.sum(1)), 1e-6)
        columns = 1 / np.maximum(np.asarray(back.sum(1)), 1e-6)
        measured = projections.transpose(0, 2, 1).reshape(matrix.shape[0], -1)
        for _ in range(iterations):
            self._image += columns * (back @ (rows * (measured - matrix @ self._image)))
            np.maximum(self._image, 0, out=self._image)
        image = np.zeros((self._image.shape[1], self._pixels**2), np.float32)
        image[:, self._seen] = self._image.T
        return image.reshape(-1, self._pixels, self._pixels)

    def _matrix(self, angles: list[float]) -> sparse.csr_matrix:
        """Each pixel's share of the bins that its centre falls between; a row is a ray."""
        count, at = self._pixels, []
        for angle in angles:
            at.append((self._x * np.cos(angle) + self._y * np.sin(angle) + 1) * count / 2 - 0.5)
        place = np.clip(np.array(at), 0, count - 1.001)
        lower = place.astype(np.int64)
        share = place - lower
        ray = lower + count * np.arange(len(angles))[:, None]
        pixel = np.broadcast_to(np.arange(len(self._seen)), ray.shape)
        values = 2 / count * np.concatenate([(1 - share).ravel(), share.ravel()])
        places = np.concatenate([ray.ravel(), ray.ravel() + 1]), np.concatenate([pixel.ravel(), pixel.ravel()])
        shape = (len(angles) * count, len(self._seen))
        return sparse.csr_matrix((values.astype(np.float32), places), shape)


def denoised(images: Array, weight: float, steps: int = 40) -> Array:
    """Return images with less total variation, slice by slice: Chambolle's projection of the dual field."""
    field = np.zeros((2, *images.shape), np.float32)
    for _ in range(steps):
        slope = np.zeros_like(field)
        rest = _divergence(field) - images / np.float32(weight)
        slope[0, :, :-1] = np.diff(rest, axis=1)
        slope[1, :, :, :-1] = np.diff(rest, axis=2)
        field = (field + 0.25 * slope) / (1 + 0.25 * np.sqrt((slope**2).sum(0)))
    return images - np.float32(weight) * _divergence(field)


def _divergence(field: Array) -> Array:
    found: Array = field[0] + field[1]
    found[:, 1:] -= field[0, :, :-1]
    found[:, :, 1:] -= field[1, :, :, :-1]
    return found


def error(image: Array, truth: Array) -> dict[str, float]:
    """Return the root of the mean square error, and the peak signal to noise ratio in dB for the truth's peak."""
    rmse = float(np.sqrt(np.mean((image.astype(np.float64) - truth) ** 2)))
    return {"rmse": rmse, "psnr_db": float(20 * np.log10(float(truth.max()) / rmse))}
