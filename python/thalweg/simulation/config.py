"""What the configuration of a simulation may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from thalweg.configuration import checked
from thalweg.errors import ConfigError
from thalweg.kernels import kernel_class
from thalweg.kernels.devices import DEVICES
from thalweg.kernels.kernel import check_data_size
from thalweg.simulation.distribution import Distribution, parse_distribution


def _quantity(value: object, info: ValidationInfo) -> Distribution | None:
    if value is None:
        return None
    folder = info.context.get("folder") if isinstance(info.context, dict) else None
    return parse_distribution(value, folder if isinstance(folder, Path) else None)


def _kernel_name(value: object) -> str:
    try:
        kernel_class(value)
    except ConfigError as error:
        raise ValueError(str(error).removeprefix("kernels: ")) from None
    return str(value)


def _device(value: object) -> str:
    if value not in DEVICES:
        raise ValueError(f"device {value!r} is unknown; accepted are {', '.join(DEVICES)}")
    return str(value)


def _extents(value: object, info: ValidationInfo) -> object:
    chosen = info.data.get("mini_app_kernel")
    if chosen is not None:
        try:
            check_data_size(value, kernel_class(chosen).axes, "")
        except ConfigError as error:
            raise ValueError(str(error).removeprefix(": ")) from None
    return value


def _options(value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    chosen = info.data.get("mini_app_kernel")
    if chosen is not None:
        try:
            checked(kernel_class(chosen).Options, value, chosen)
        except ConfigError as error:
            raise ValueError(str(error)) from None
    return value


Quantity = Annotated[Distribution | None, BeforeValidator(_quantity)]


class KernelConfig(BaseModel):
    """One kernel of an iteration; exactly one of `run_time` (seconds) and `run_count` is given."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)

    name: str = Field(min_length=1)
    mini_app_kernel: Annotated[str, BeforeValidator(_kernel_name)]
    device: Annotated[str, BeforeValidator(_device)] = "cpu"
    data_size: Annotated[Any, BeforeValidator(_extents)]
    run_time: Quantity = None
    run_count: Quantity = None
    options: Annotated[dict[str, Any], AfterValidator(_options)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_measure(self) -> KernelConfig:
        if self.run_time is not None and self.run_count is not None:
            raise ValueError("has both run_time and run_count; remove one of them")
        if self.run_time is None and self.run_count is None:
            raise ValueError("has neither run_time nor run_count; add one of them")
        return self


class SimulationConfig(BaseModel):
    """A simulation: what one iteration does."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)

    kernels: list[KernelConfig] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> SimulationConfig:
        seen: set[str] = set()
        for entry in self.kernels:
            if entry.name in seen:
                raise ValueError(f"two kernels are named {entry.name!r}; give each a name of its own")
            seen.add(entry.name)
        return self
