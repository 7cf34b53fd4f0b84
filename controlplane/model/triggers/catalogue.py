"""The installed trigger types, and how a document's ``type`` chooses one of them.

What is installed is a fact of the process, like its packages: found once, by the first
document that asks. The union is made of the registry, so that validation, its suggestions
and the JSON Schema always know the same types.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Union

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from controlplane.kernel.registry import Registry
from controlplane.model import triggers
from controlplane.model.triggers.base import Trigger

GROUP = "fleetward.triggers"

TriggerTypes = Registry[type[Trigger]]


@cache
def installed() -> TriggerTypes:
    """Return every trigger type: our own, and those of other packages."""
    registry: TriggerTypes = Registry("trigger type")
    for found in _shipped():
        registry.add(found.name_of_type(), found)
    registry.load_entry_points(GROUP)
    return registry


def _shipped() -> Iterator[type[Trigger]]:
    for info in iter_modules(triggers.__path__):
        module = import_module(f"{triggers.__name__}.{info.name}")
        for _, found in inspect.getmembers(module, inspect.isclass):
            if issubclass(found, Trigger) and found is not Trigger and found.__module__ == module.__name__:
                yield found


class _Tagged(BaseModel):
    """What must be there before anything else can be judged."""

    type: str


def _choose(value: Any) -> Trigger:
    if isinstance(value, Trigger):
        return value
    name, types = _Tagged.model_validate(value).type, installed()
    if name not in types:
        expected = ", ".join(f"'{known}'" for known in types.names())
        context = {"discriminator": "'type'", "tag": name, "expected_tags": expected}
        raise PydanticKnownError("union_tag_invalid", context)
    return types.get(name).model_validate(value)


class _ByType:
    """Makes Pydantic ask the registry."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source, handler
        shown = core_schema.simple_ser_schema("any")  # each as what it is, not as its base
        return core_schema.no_info_plain_validator_function(_choose, serialization=shown)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        del schema
        union: Any = Union[tuple(installed())]  # noqa: UP007  made of what is installed
        return handler(TypeAdapter(Annotated[union, Field(discriminator="type")]).core_schema)


AnyTrigger = Annotated[Trigger, _ByType]
"""One trigger of any installed type."""
