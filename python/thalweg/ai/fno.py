"""The Fourier neural operator.

Li et al., "Fourier Neural Operator for Parametric Partial Differential Equations", ICLR 2021.
"""

from __future__ import annotations

from typing import cast

import torch

from thalweg.ai.config import FNOConfig
from thalweg.errors import ShapeError


class SpectralConvolution(torch.nn.Module):
    """Multiplies the lowest Fourier modes of a field by learnt complex matrices (equation 5 of the paper).

    Only the modes that are kept are transformed, as products with the rows of the Fourier matrix: with a dozen modes
    of 64
    points that is several times faster on a CPU than the whole transform, and gives the same numbers.

    Parameters
    ----------
    before, after : int
        Channels.
    modes : int
        Modes kept in each direction: -modes to modes - 1 in the first, 0 to modes - 1 in the second.
    """

    def __init__(self, before: int, after: int, modes: int) -> None:
        super().__init__()
        self._modes = modes
        self._fourier: dict[tuple[int, int, torch.device], tuple[torch.Tensor, ...]] = {}
        scale = (1.0 / before) ** 0.5 / 2
        self.weight = torch.nn.Parameter(scale * torch.randn(2 * modes * modes, before, after, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (after, batch, ny, nx) for x of shape (before, batch, ny, nx); nx and ny at least twice the modes."""
        before, batch, ny, nx = x.shape
        modes = self._modes
        if min(ny, nx) < 2 * modes:
            raise ShapeError(
                f"FNO2d: a field of {ny} x {nx} points has no {modes} modes; expected at least {2 * modes}"
            )
        along_x, along_y, back_y, back_x = self._matrices(ny, nx, x.device)
        spectrum = torch.view_as_complex((x.reshape(-1, nx) @ along_x).view(before, batch, ny, modes, 2))
        low = (along_y @ spectrum).permute(2, 3, 1, 0).reshape(-1, batch, before)
        mixed = torch.bmm(low, torch.view_as_complex(self.weight))
        after = mixed.shape[2]
        rows = back_y @ mixed.view(2 * modes, modes, batch, after).permute(3, 2, 0, 1)
        return (torch.view_as_real(rows).reshape(-1, 2 * modes) @ back_x).view(after, batch, ny, nx)

    def _matrices(self, ny: int, nx: int, device: torch.device) -> tuple[torch.Tensor, ...]:
        """Return the orthonormal Fourier matrices there and back; complex numbers along x as pairs of real ones."""
        key = (ny, nx, device)
        if key not in self._fourier:
            modes = self._modes
            kx = torch.arange(modes, dtype=torch.float64)
            ky = torch.cat([torch.arange(modes), torch.arange(-modes, 0)]).to(torch.float64)
            x = torch.arange(nx, dtype=torch.float64)[:, None] * kx * (2 * torch.pi / nx)
            y = ky[:, None] * torch.arange(ny, dtype=torch.float64) * (2 * torch.pi / ny)
            along_x = torch.stack([x.cos(), -x.sin()], dim=-1).reshape(nx, -1) / nx**0.5
            twice = torch.where(kx == 0, 1.0, 2.0)  # a real field has the modes -k as well
            back_x = (torch.stack([twice * x.cos(), -twice * x.sin()], dim=-1).reshape(nx, -1) / nx**0.5).T
            along_y = torch.polar(torch.full_like(y, ny**-0.5), -y)
            made = (along_x.float(), along_y.to(torch.complex64), along_y.conj().T.to(torch.complex64), back_x.float())
            self._fourier[key] = tuple(entry.contiguous().to(device) for entry in made)
        return self._fourier[key]


class PointwiseLinear(torch.nn.Module):
    """Maps the channels at each point by one matrix: (before, batch, ny, nx) to (after, batch, ny, nx)."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self._linear = torch.nn.Linear(before, after)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the mapped channels."""
        out = torch.addmm(self._linear.bias[:, None], self._linear.weight, x.flatten(1))
        return out.view(-1, *x.shape[1:])


class FNO2d(torch.nn.Module):
    """Lifts a field to `width` channels, applies layers of spectral and point-wise maps, projects back.

    Maps (batch, in_channels, ny, nx) to (batch, out_channels, ny, nx), on any periodic grid of at least twice `modes`
    points a side.
    Inside, the channels are the first axis, so that mapping them is one matrix product.
    """

    def __init__(self, config: FNOConfig) -> None:
        super().__init__()
        width = config.width
        self._residual = config.residual
        self._lift = PointwiseLinear(config.in_channels, width)
        self._spectral = torch.nn.ModuleList(
            SpectralConvolution(width, width, config.modes) for _ in range(config.layers)
        )
        self._local = torch.nn.ModuleList(PointwiseLinear(width, width) for _ in range(config.layers))
        self._project = torch.nn.Sequential(
            PointwiseLinear(width, 2 * width), torch.nn.GELU(), PointwiseLinear(2 * width, config.out_channels)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the operator's output."""
        hidden = self._lift(x.transpose(0, 1))
        for number, (spectral, local) in enumerate(zip(self._spectral, self._local, strict=True)):
            hidden = spectral(hidden) + local(hidden)
            if number < len(self._spectral) - 1:
                hidden = torch.nn.functional.gelu(hidden)
        out = cast(torch.Tensor, self._project(hidden)).transpose(0, 1)
        return x[:, : out.shape[1]] + out if self._residual else out
