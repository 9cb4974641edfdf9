"""The Fourier neural operator of Li et al., "Fourier Neural Operator for Parametric Partial Differential Equations" (ICLR 2021)."""

from __future__ import annotations

from typing import cast

import torch

from thalweg.ai.config import FNOConfig


class SpectralConvolution(torch.nn.Module):
    """Multiplies the lowest Fourier modes of a field by learnt complex matrices (equation 5 of the paper).

    Parameters
    ----------
    before, after : int
        Channels.
    modes : int
        Modes kept in each direction, positive and negative in the first, non-negative in the second.
    """

    def __init__(self, before: int, after: int, modes: int) -> None:
        super().__init__()
        self._modes = modes
        scale = (1.0 / before) ** 0.5 / 2
        self.weight = torch.nn.Parameter(scale * torch.randn(2 * modes * modes, before, after, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (batch, after, ny, nx) for x of shape (batch, before, ny, nx)."""
        batch, before, ny, nx = x.shape
        modes = min(self._modes, ny // 2, nx // 2 + 1)
        spectrum = torch.fft.rfft2(x, norm="ortho")
        low = torch.cat([spectrum[:, :, :modes, :modes], spectrum[:, :, -modes:, :modes]], dim=2)
        weight = torch.view_as_complex(self.weight).view(2 * self._modes, self._modes, before, -1)
        if modes < self._modes:
            weight = torch.cat([weight[:modes, :modes], weight[-modes:, :modes]])
        flat = low.permute(2, 3, 0, 1).reshape(-1, batch, before)
        mixed = torch.bmm(flat, weight.reshape(-1, before, weight.shape[-1]))
        mixed = mixed.view(2 * modes, modes, batch, -1).permute(2, 3, 0, 1)
        out = torch.zeros(batch, mixed.shape[1], ny, nx // 2 + 1, dtype=spectrum.dtype, device=x.device)
        out[:, :, :modes, :modes] = mixed[:, :, :modes]
        out[:, :, -modes:, :modes] = mixed[:, :, modes:]
        return torch.fft.irfft2(out, s=(ny, nx), norm="ortho")


class FNO2d(torch.nn.Module):
    """Lifts a field to `width` channels, applies layers of spectral and point-wise maps, projects back.

    Maps (batch, in_channels, ny, nx) to (batch, out_channels, ny, nx), on any periodic grid.
    """

    def __init__(self, config: FNOConfig) -> None:
        super().__init__()
        width = config.width
        self._residual = config.residual
        self._lift = torch.nn.Conv2d(config.in_channels, width, 1)
        self._spectral = torch.nn.ModuleList(
            SpectralConvolution(width, width, config.modes) for _ in range(config.layers)
        )
        self._local = torch.nn.ModuleList(torch.nn.Conv2d(width, width, 1) for _ in range(config.layers))
        self._project = torch.nn.Sequential(
            torch.nn.Conv2d(width, 2 * width, 1), torch.nn.GELU(), torch.nn.Conv2d(2 * width, config.out_channels, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the operator's output."""
        hidden = self._lift(x)
        for number, (spectral, local) in enumerate(zip(self._spectral, self._local, strict=True)):
            hidden = spectral(hidden) + local(hidden)
            if number < len(self._spectral) - 1:
                hidden = torch.nn.functional.gelu(hidden)
        out = cast(torch.Tensor, self._project(hidden))
        return x[:, : out.shape[1]] + out if self._residual else out
