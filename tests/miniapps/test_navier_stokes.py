"""The solver's flows obey the equations."""

from __future__ import annotations

import numpy as np
import pytest

from thalweg.errors import InvalidError
from thalweg.patterns.navier_stokes.solver import VorticitySolver, random_vorticity


def grid(n):
    x = np.arange(n) * 2 * np.pi / n
    return np.meshgrid(x, x)


@pytest.mark.parametrize("wave_number", [1, 2, 3])
def test_a_taylor_green_vortex_decays_as_its_exact_solution(wave_number):
    x, y = grid(32)
    k, viscosity = wave_number, 0.05
    start = 2 * k * np.cos(k * x) * np.cos(k * y)
    solver = VorticitySolver(start[np.newaxis], viscosity, 0.01)
    solver.advance(100)
    exact = start * np.exp(-2 * viscosity * k**2 * solver.time)
    assert solver.time == pytest.approx(1.0)
    assert np.abs(solver.vorticity[0] - exact).max() < 1e-12 * k


def test_the_equations_keep_their_symmetries():
    """A moved or mirrored start gives the moved or mirrored end, though advection does not vanish."""
    x, y = grid(48)
    start = np.cos(2 * x) + np.cos(3 * y) + np.sin(x + 2 * y)
    shifted = np.roll(start, (5, 9), axis=(0, 1))
    solver = VorticitySolver(np.stack([start, shifted, -start[:, ::-1]]), 1e-3, 0.01)
    solver.advance(100)
    one, moved, mirrored = solver.vorticity
    assert np.abs(one - start).max() > 0.1
    assert np.allclose(np.roll(one, (5, 9), axis=(0, 1)), moved, atol=1e-10)
    assert np.allclose(-one[:, ::-1], mirrored, atol=1e-10)


def test_without_viscosity_energy_and_enstrophy_are_kept():
    solver = VorticitySolver(random_vorticity(2, 48, 3, peak=3), 0.0, 0.005)
    energy, enstrophy = solver.energy(), solver.enstrophy()
    solver.advance(100)
    assert np.allclose(solver.energy(), energy, rtol=1e-6)
    assert np.allclose(solver.enstrophy(), enstrophy, rtol=1e-4)


def test_energy_falls_at_the_rate_of_the_enstrophy():
    """dE/dt = -2 nu Z for 2-D flows, with Z the mean of omega^2 / 2."""
    viscosity, h = 5e-3, 0.005
    solver = VorticitySolver(random_vorticity(2, 64, 4, peak=3), viscosity, h)
    solver.advance(50)
    before = solver.energy()
    solver.advance(1)
    middle = solver.enstrophy()
    solver.advance(1)
    assert np.allclose((solver.energy() - before) / (2 * h), -2 * viscosity * middle, rtol=1e-4)


def test_halving_the_time_step_makes_the_error_sixteen_times_smaller():
    start = random_vorticity(1, 32, 5, peak=3)

    def after(steps):
        solver = VorticitySolver(start, 5e-3, 0.5 / steps)
        solver.advance(steps)
        return solver.vorticity

    reference = after(400)
    errors = [np.abs(after(steps) - reference).max() for steps in (12, 24, 48)]
    assert 12 < errors[0] / errors[1] < 20
    assert 12 < errors[1] / errors[2] < 20


def test_a_forced_flow_reaches_the_balance_of_force_and_viscosity():
    """A force sin(k y) drives the exact steady flow omega = f / (nu k^2), stable at this viscosity."""
    _, y = grid(16)
    forcing = np.cos(y)
    solver = VorticitySolver(np.zeros((1, 16, 16)), 1.0, 0.05, forcing)
    solver.advance(400)
    assert np.allclose(solver.vorticity[0], forcing, atol=1e-8)


def test_velocity_has_no_divergence_and_its_curl_is_the_vorticity():
    solver = VorticitySolver(random_vorticity(1, 32, 6), 1e-3, 0.01)
    u, v = solver.velocity
    k = np.fft.fftfreq(32, 1 / 32)
    u_hat, v_hat = np.fft.fft2(u[0]), np.fft.fft2(v[0])
    ikx, iky = 1j * k[np.newaxis, :], 1j * k[:, np.newaxis]
    assert np.abs(ikx * u_hat + iky * v_hat).max() < 1e-9
    assert np.allclose(np.fft.ifft2(ikx * v_hat - iky * u_hat).real, solver.vorticity[0], atol=1e-10)


def test_random_fields_repeat_with_their_seed_and_have_the_speed_asked_for():
    one, two, other = random_vorticity(3, 32, 1), random_vorticity(3, 32, 1), random_vorticity(3, 32, 2)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    energy = VorticitySolver(random_vorticity(3, 32, 1, speed=2.0), 0.0, 0.1).energy()
    assert np.allclose(energy, 2.0**2 / 2)


def test_a_grid_that_cannot_be_used_is_refused():
    with pytest.raises(InvalidError, match="9 points a side; give an even number"):
        VorticitySolver(np.zeros((1, 9, 9)), 0.1, 0.1)
