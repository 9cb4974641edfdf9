"""Quantities of a configuration: a number, a named distribution, or a discrete one."""

from __future__ import annotations

import bisect
import csv
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from thalweg.configuration import suggestion


class Distribution(ABC):
    """A distribution of numbers of 0 or more.

    Attributes
    ----------
    mean, std : float
        Of the distribution as configured.
    """

    mean: float
    std: float

    @abstractmethod
    def quantile(self, u: float) -> float:
        """Return the value below which the share `u` of the distribution lies; `u` strictly between 0 and 1."""


class Constant(Distribution):
    """Always the same number."""

    def __init__(self, value: float) -> None:
        self.mean, self.std = value, 0.0

    def quantile(self, u: float) -> float:
        return self.mean


class Normal(Distribution):
    """A normal distribution far enough from 0; the less than 0.14 % below 0 count as 0."""

    def __init__(self, mean: float, std: float) -> None:
        if mean < 3 * std:
            raise ValueError(
                f"normal with mean {mean:g} and std {std:g} would give negative values; "
                "make std at most a third of mean, or use lognormal or gamma"
            )
        self.mean, self.std = mean, std
        self._normal = NormalDist(mean, std) if std > 0 else None

    def quantile(self, u: float) -> float:
        return max(0.0, self._normal.inv_cdf(u)) if self._normal else self.mean


class Lognormal(Distribution):
    """A log-normal distribution, given by its own mean and std (not those of the logarithm)."""

    def __init__(self, mean: float, std: float) -> None:
        self.mean, self.std = mean, std
        variance = math.log1p((std / mean) ** 2)
        self._normal = NormalDist(math.log(mean) - variance / 2, math.sqrt(variance)) if std > 0 else None

    def quantile(self, u: float) -> float:
        return math.exp(self._normal.inv_cdf(u)) if self._normal else self.mean


class Gamma(Distribution):
    """A gamma distribution, given by mean and std; its quantiles come from a table of its distribution function."""

    def __init__(self, mean: float, std: float) -> None:
        self.mean, self.std = mean, std
        if std == 0:
            self._x = self._cdf = np.array([mean, mean])
            return
        shape = (mean / std) ** 2
        # substitute x = t^(1/shape): the density in t has no pole at 0 for shape < 1
        upper = max(shape, 1.0) + 12 * math.sqrt(max(shape, 1.0)) + 30
        power = max(1.0, 1.0 / shape)
        t = np.linspace(0.0, upper ** (1 / power), 20_001)
        x = t**power
        with np.errstate(divide="ignore", invalid="ignore"):
            log_density = (shape - 1) * np.log(x) - x - math.lgamma(shape) + (power - 1) * np.log(t) + math.log(power)
        density = np.exp(log_density)
        density[0] = density[1] if not math.isfinite(density[0]) else density[0]
        steps = (density[1:] + density[:-1]) / 2 * np.diff(t)
        cdf = np.concatenate([[0.0], np.cumsum(steps)])
        self._x, self._cdf = x * (std**2 / mean), cdf / cdf[-1]

    def quantile(self, u: float) -> float:
        return float(np.interp(u, self._cdf, self._x))


class Exponential(Distribution):
    """An exponential distribution; its std is its mean."""

    def __init__(self, mean: float) -> None:
        self.mean = self.std = mean

    def quantile(self, u: float) -> float:
        return -self.mean * math.log1p(-u)


class Uniform(Distribution):
    """A uniform distribution between `low` and `high`."""

    def __init__(self, low: float, high: float) -> None:
        if high < low:
            raise ValueError(f"uniform: high {high:g} is below low {low:g}; exchange them")
        self._low, self._high = low, high
        self.mean, self.std = (low + high) / 2, (high - low) / math.sqrt(12)

    def quantile(self, u: float) -> float:
        return self._low + u * (self._high - self._low)


class Discrete(Distribution):
    """Values with probabilities."""

    def __init__(self, values: list[float], probabilities: list[float]) -> None:
        if not values or len(values) != len(probabilities):
            raise ValueError(
                f"discrete: {len(values)} values and {len(probabilities)} probabilities; "
                "give as many of both, at least one"
            )
        for value in (*values, *probabilities):
            if value < 0 or not math.isfinite(value):
                raise ValueError(f"discrete: {value:g} is not accepted; values and probabilities are 0 or more")
        total = math.fsum(probabilities)
        if abs(total - 1) > 1e-6:
            raise ValueError(f"discrete: the probabilities add up to {total:g}; make them add up to 1")
        self._values = values
        self._cumulative = list(itertools.accumulate(probabilities))
        self.mean = math.fsum(v * p for v, p in zip(values, probabilities, strict=True))
        second = math.fsum(p * (v - self.mean) ** 2 for v, p in zip(values, probabilities, strict=True))
        self.std = math.sqrt(second)

    def quantile(self, u: float) -> float:
        return self._values[min(bisect.bisect_left(self._cumulative, u), len(self._values) - 1)]


_NAMED: dict[str, tuple[Callable[..., Distribution], tuple[str, ...]]] = {
    "constant": (Constant, ("value",)),
    "normal": (Normal, ("mean", "std")),
    "lognormal": (Lognormal, ("mean", "std")),
    "gamma": (Gamma, ("mean", "std")),
    "exponential": (Exponential, ("mean",)),
    "uniform": (Uniform, ("low", "high")),
}


def parse_distribution(content: object, folder: Path | None = None) -> Distribution:
    """Make a distribution from what a configuration has.

    Parameters
    ----------
    content : number or mapping
        A number of 0 or more; or ``{"distribution": name, ...}`` with mean and std (normal, lognormal, gamma), mean
        (exponential),
        low and high (uniform), value (constant), values and probabilities (discrete), or csv (discrete: a file with a
        value and its
        probability a line).
    folder : Path, optional
        What a relative ``csv`` path is relative to. Default: the current directory.

    Raises
    ------
    ValueError
        When it is none of these; the message says why and what is accepted.
    """
    if isinstance(content, Distribution):
        return content
    if not isinstance(content, Mapping):
        return Constant(_number(content, None))
    rest = dict(content)
    name = rest.pop("distribution", None)
    accepted = [*_NAMED, "discrete"]
    if name is None:
        raise ValueError(f"has no key 'distribution'; add it, accepted are {', '.join(accepted)}")
    if name == "discrete":
        return _discrete(rest, folder)
    if name not in _NAMED:
        raise ValueError(f"distribution {name!r} is unknown; {suggestion(name, accepted)}")
    make, parameters = _NAMED[name]
    _only(name, rest, parameters)
    values = [_number(rest[parameter], parameter) for parameter in parameters]
    if name in ("lognormal", "gamma") and values[0] <= 0:
        raise ValueError(f"{name}: mean is {values[0]:g}; give more than 0")
    return make(*values)


def _discrete(rest: dict[str, Any], folder: Path | None) -> Distribution:
    if "csv" in rest and len(rest) > 1:
        raise ValueError(
            f"discrete: has both csv and {', '.join(key for key in rest if key != 'csv')}; remove one of them"
        )
    if "csv" in rest:
        _only("discrete", rest, ("csv",))
        return _from_csv((folder or Path()) / str(rest["csv"]))
    _only("discrete", rest, ("values", "probabilities"))
    for parameter in ("values", "probabilities"):
        if not isinstance(rest[parameter], (list, tuple)):
            raise ValueError(f"discrete: {parameter} is {rest[parameter]!r}; give a list of numbers")
    values = [_number(value, "values") for value in rest["values"]]
    return Discrete(values, [_number(value, "probabilities") for value in rest["probabilities"]])


def _from_csv(path: Path) -> Distribution:
    values, probabilities = [], []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.reader(file), 1):
                if not row or row[0].lstrip().startswith("#"):
                    continue
                try:
                    value, probability = (float(cell) for cell in row)
                except ValueError:
                    if number == 1:
                        continue  # a heading
                    raise ValueError(
                        f"csv: line {number} of {path} is {','.join(row)!r}; give a value and its probability"
                    ) from None
                values.append(value)
                probabilities.append(probability)
    except OSError as error:
        raise ValueError(f"csv: {path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(
            f"csv: {path} is no table of text: {error}; give a value and its probability a line"
        ) from error
    try:
        return Discrete(values, probabilities)
    except ValueError as error:
        raise ValueError(f"csv: {path}: {error}") from None


def _only(name: str, rest: Mapping[str, Any], parameters: tuple[str, ...]) -> None:
    for key in rest:
        if key not in parameters:
            raise ValueError(f"{name}: key {key!r} is unknown; {suggestion(key, list(parameters))}")
    for parameter in parameters:
        if parameter not in rest:
            raise ValueError(f"{name}: {parameter} is missing; add it")


def _number(value: object, parameter: str | None) -> float:
    where = f"{parameter} is" if parameter else "is"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{where} {value!r}; give a number of 0 or more" + ("" if parameter else " or a distribution"))
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{where} {value:g}; give a number of 0 or more")
    return float(value)
