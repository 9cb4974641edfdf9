"""The 2-D incompressible Navier–Stokes equations in vorticity form, solved pseudo-spectrally on a periodic square."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thalweg.errors import InvalidError

Array = np.ndarray[Any, np.dtype[Any]]


class VorticitySolver:
    r"""Integrates :math:`\partial_t\omega + u\cdot\nabla\omega = \nu\nabla^2\omega + f` for several flows at once.

    The domain is [0, 2 pi) squared. Products are formed on the grid and cut by the 2/3 rule (Orszag 1971); viscosity
    is integrated
    exactly by an integrating factor, advection by the classical fourth-order Runge–Kutta method.

    Parameters
    ----------
    vorticity : ndarray, shape (members, n, n), axes (member, y, x)
        At time 0. n even, at least 8.
    viscosity : float
        Kinematic viscosity, in units of the domain and time.
    time_step : float
        Length of one step.
    forcing : ndarray, shape (n, n), optional
        Curl of the body force, the same for all members and times.

    Attributes
    ----------
    time : float
        Time reached.
    """

    def __init__(self, vorticity: Array, viscosity: float, time_step: float, forcing: Array | None = None) -> None:
        if vorticity.ndim != 3 or vorticity.shape[1] != vorticity.shape[2] or vorticity.shape[1] < 8:
            raise InvalidError(
                f"VorticitySolver: vorticity has shape {vorticity.shape}; expected (members, n, n), n from 8"
            )
        if vorticity.shape[1] % 2:
            raise InvalidError(f"VorticitySolver: the grid has {vorticity.shape[1]} points a side; give an even number")
        if viscosity < 0 or time_step <= 0:
            raise InvalidError(
                f"VorticitySolver: viscosity {viscosity} and time_step {time_step}; give 0 or more, and more than 0"
            )
        n = vorticity.shape[1]
        self.n, self.time_step, self.time = n, time_step, 0.0
        kx = np.fft.rfftfreq(n, 1 / n)[np.newaxis, :]
        ky = np.fft.fftfreq(n, 1 / n)[:, np.newaxis]
        k2 = kx**2 + ky**2
        inverse = np.zeros_like(k2)
        np.divide(1.0, k2, out=inverse, where=k2 > 0)
        kept = (np.abs(kx) < n / 3) & (np.abs(ky) < n / 3)
        # one inverse transform gives u, v, d(omega)/dx and d(omega)/dy: the factors of omega's spectrum
        self._factors = np.stack([1j * ky * inverse, -1j * kx * inverse, 1j * kx * kept, 1j * ky * kept])[:, np.newaxis]
        self._minus_kept = np.where(kept, -1.0, 0.0)
        self._half_decay = np.exp(-viscosity * k2 * time_step / 2)
        self._forcing = 0.0 if forcing is None else np.fft.rfft2(forcing) * kept
        self._spectrum = np.fft.rfft2(vorticity.astype(np.float64)) * kept

    @property
    def vorticity(self) -> Array:
        """Vorticity now, shape (members, n, n), float64."""
        return np.fft.irfft2(self._spectrum, s=(self.n, self.n))

    @property
    def velocity(self) -> tuple[Array, Array]:
        """Velocity (u, v) now, each of shape (members, n, n)."""
        u, v = np.fft.irfft2(self._factors[:2] * self._spectrum, s=(self.n, self.n))
        return u, v

    def energy(self) -> Array:
        """Return the mean kinetic energy (u^2 + v^2) / 2 of each member."""
        u, v = self.velocity
        return np.asarray(((u**2 + v**2) / 2).mean(axis=(1, 2)))

    def enstrophy(self) -> Array:
        """Return the mean of omega^2 / 2 of each member."""
        return np.asarray((self.vorticity**2 / 2).mean(axis=(1, 2)))

    def advance(self, steps: int) -> None:
        """Make `steps` time steps (integrating-factor RK4)."""
        h, decay = self.time_step, self._half_decay
        for _ in range(steps):
            w = self._spectrum
            w_half = w * decay
            k1 = self._rate(w)
            k2 = self._rate(w_half + h / 2 * decay * k1)
            k3 = self._rate(w_half + h / 2 * k2)
            k4 = self._rate(decay * (w_half + h * k3))
            self._spectrum = decay * (w_half + h / 6 * decay * k1 + h / 3 * (k2 + k3)) + h / 6 * k4
            self.time += h

    def courant(self) -> float:
        """Return the largest Courant number (|u| + |v|) dt / dx of all members."""
        u, v = self.velocity
        fastest = float((np.abs(u) + np.abs(v)).max())
        courant: float = fastest * self.time_step * self.n / (2 * math.pi)
        return courant

    def _rate(self, spectrum: Array) -> Array:
        u, v, wx, wy = np.fft.irfft2(self._factors * spectrum, s=(self.n, self.n))
        u *= wx
        v *= wy
        u += v
        advection: Array = np.fft.rfft2(u)
        advection *= self._minus_kept
        return advection + self._forcing


def random_vorticity(members: int, n: int, seed: int, *, peak: float = 4.0, speed: float = 1.0) -> Array:
    """Return smooth random vorticity fields.

    Parameters
    ----------
    members, n : int
        Number of fields, points a side.
    seed : int
        The same seed gives the same fields.
    peak : float
        Wave number at which the energy spectrum k^7 exp(-3.5 (k / peak)^2) is largest (within an n/3 cut-off).
    speed : float
        Root mean square of the velocity of each field.

    Returns
    -------
    ndarray, shape (members, n, n), float64
    """
    rng = np.random.default_rng(seed)
    kx = np.fft.rfftfreq(n, 1 / n)[np.newaxis, :]
    ky = np.fft.fftfreq(n, 1 / n)[:, np.newaxis]
    k = np.hypot(kx, ky)
    shape = k ** ((7 - 1) / 2) * np.exp(-1.75 * (k / peak) ** 2)  # |u_k|, whose square times 2 pi k is the spectrum
    shape *= (np.abs(kx) < n / 3) & (np.abs(ky) < n / 3)
    noise = np.fft.rfft2(rng.standard_normal((members, n, n)))
    spectrum = noise * shape * k
    velocity = np.fft.irfft2(noise * shape, s=(n, n))
    scale = speed / np.sqrt((velocity**2).mean(axis=(1, 2), keepdims=True))
    fields: Array = np.fft.irfft2(spectrum, s=(n, n)) * scale
    return fields
