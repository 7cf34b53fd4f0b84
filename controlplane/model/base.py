"""The base of every model, and the value types of the YAML: durations, quantities, ratios, expressions.

YAML is camelCase, code snake_case; unknown keys are errors; models are frozen. Errors
raised here are `ValueError`s, which Pydantic collects so that all of a file's are reported.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, PlainSerializer
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from controlplane.kernel.durations import format_duration, parse_duration
from controlplane.kernel.errors import InvalidInput

NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$"

Name = Annotated[str, Field(pattern=NAME_PATTERN, description="lower case letters, digits and dashes")]


class Model(BaseModel):
    """Frozen, strict about unknown keys, camelCase outside."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,  # what is written out is always all there
    )

    @classmethod
    def trusted(cls, **values: Any) -> Self:
        """Return it made of a value for each of its fields, none of which is looked at.

        A fraction of the cost of `model_construct`, for what is made by the thousand at each tick.
        """
        made = cls.__new__(cls)
        for name, value in (
            ("__dict__", values),
            ("__pydantic_fields_set__", set(values)),
            ("__pydantic_extra__", None),
            ("__pydantic_private__", None),
        ):
            object.__setattr__(made, name, value)
        return made


def _duration(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    if isinstance(value, str):
        try:
            return parse_duration(value)
        except InvalidInput as error:
            raise ValueError(error.message) from error
    if value == 0:
        return 0.0
    example = value if isinstance(value, int | float) and math.isfinite(value) else 30
    msg = f"{value} has no unit: write for example {example}s or {example}m"
    raise ValueError(msg)


class _DurationSchema:
    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        del schema, handler
        return {
            "type": "string",
            "pattern": r"^(0|(\d+(\.\d+)?(ms|s|m|h|d|w))+)$",
            "examples": ["30s", "1h30m"],
        }


Duration = Annotated[
    float,
    BeforeValidator(_duration),
    PlainSerializer(format_duration, return_type=str),
    _DurationSchema,
]
"""Seconds in code, ``1h30m`` in YAML. In Python code pass a text, or build with `model_construct`."""


PositiveDuration = Annotated[Duration, Field(gt=0)]
"""One that is more than nothing: a window, an objective, the time between two questions."""


class Quantity(str):
    """A count or a per cent: ``2`` or ``"20%"``; as in Kubernetes' maxUnavailable."""

    __slots__ = ()

    @property
    def is_percent(self) -> bool:
        return self.endswith("%")

    def of(self, total: int) -> float:
        """Return the absolute amount this means out of ``total`` (not rounded)."""
        return total * float(self[:-1]) / 100 if self.is_percent else float(self)

    @classmethod
    def parse(cls, value: Any) -> Quantity:
        """Read ``2``, ``"2"`` or ``"20%"``; anything else is a `ValueError` that says what is valid."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return cls(value)
        if isinstance(value, str) and re.fullmatch(r"\d+", value):
            return cls(value)
        if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?%", value) and float(value[:-1]) <= 100:
            return cls(value)
        msg = f'{value!r} is not a quantity: write a count such as 2, or a per cent such as "20%"'
        raise ValueError(msg)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        del source, handler
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        del schema, handler
        return {
            "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^\d+(\.\d+)?%?$"}]
        }


def _ratio(value: Any) -> Any:
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value)
        if match:
            return round(float(match.group(1)) / 100, 12)
        msg = f'{value!r} is not a ratio: write "99.9%" or 0.999'
        raise ValueError(msg)
    if isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value <= 1:
        if not 0 <= value <= 100:
            msg = f'{value} is not a ratio: write "99.9%" or 0.999'
            raise ValueError(msg)
        msg = f'{value} is ambiguous: write "{value}%" for per cent, or a ratio between 0 and 1'
        raise ValueError(msg)
    return value


Ratio = Annotated[
    float,
    BeforeValidator(_ratio, json_schema_input_type=float | str),
    Field(ge=0, le=1, description='a ratio 0..1, or text such as "99.9%"'),
]

Mode = Literal["observe", "dryRun", "approve", "auto"]
"""How much automation may do, from strict to free: watch; plan; ask first; act."""

MODES: tuple[Mode, ...] = ("observe", "dryRun", "approve", "auto")


def strictest(*modes: Mode | None) -> Mode:
    """Return the strictest of the modes that are given; auto if none is."""
    given = [mode for mode in modes if mode is not None]
    return min(given, key=MODES.index, default="auto")


Level = Literal["service", "zone", "node", "replica", "gpu"]
"""How wide a target is."""
