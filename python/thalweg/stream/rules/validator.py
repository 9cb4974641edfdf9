"""Which metadata a topic accepts."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thalweg.errors import CorruptDataError, InvalidError, ThalwegError
from thalweg.homes import library
from thalweg.stream.definition import Rule
from thalweg.stream.packed import Buffer
from thalweg.stream.rules.numpy_scalars import with_plain_numbers
from thalweg.stream.rules.own import OwnRules, only_key
from thalweg.stream.rules.serializer import JsonSerializer, Serializer


class Validator(ABC):
    """Accepts metadata, or says by an `InvalidError` what is wrong with them and where.

    Attributes
    ----------
    encoding_suffices : bool
        What the serializer encoded needs no check.
    """

    encoding_suffices = False

    def __init__(self, serializer: Serializer) -> None:
        self._serializer = serializer

    @abstractmethod
    def check(self, value: Any) -> None:
        """Check metadata."""

    def check_encoded(self, encoded: Buffer) -> None:
        """Check metadata that are bytes already."""
        if not len(encoded):
            raise InvalidError("metadata: $ is missing, as there are no bytes; expected a value")
        try:
            value = self._serializer.decode(encoded)
        except CorruptDataError as error:
            raise InvalidError(str(error)) from None
        self.check(value)


class JsonValidator(Validator):
    """Any JSON."""

    def __init__(self, serializer: Serializer) -> None:
        super().__init__(serializer)
        self.encoding_suffices = isinstance(serializer, JsonSerializer)
        self._json = JsonSerializer()

    def check(self, value: Any) -> None:
        if not self.encoding_suffices:
            self._json.encode(_as_json(value))


class SchemaValidator(Validator):
    """What a JSON Schema accepts."""

    def __init__(self, schema: Any, serializer: Serializer) -> None:
        super().__init__(serializer)
        jsonschema = library("jsonschema", "validator 'schema'", "streams")
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise InvalidError(f"validator: schema: {error.json_path}: {error.message}") from None
        self._schema = kind(schema)
        self._best_match: Callable[[Iterable[Any]], Any] = jsonschema.exceptions.best_match

    def check(self, value: Any) -> None:
        value = _as_json(value)
        if not self._schema.is_valid(value) and not self._schema.is_valid(value := with_plain_numbers(value)):
            error = self._best_match(self._schema.iter_errors(value))
            raise InvalidError(f"metadata: {error.json_path}: {error.message}; see the schema of the topic")


class _User(Validator):
    def __init__(self, own: Callable[[Any], object], serializer: Serializer) -> None:
        super().__init__(serializer)
        self._own = own

    def check(self, value: Any) -> None:
        try:
            self._own(value)
        except ThalwegError:
            raise
        except (ValueError, TypeError) as error:
            raise InvalidError(f"metadata: {error}") from error


OWN: OwnRules[Callable[[Any], object]] = OwnRules("validator")


def validator_of(rule: Rule, serializer: Serializer) -> Validator | None:
    """Return the validator of a topic, None where it accepts all.

    Raises
    ------
    InvalidError
        When there is no such rule.
    NotFoundError
        When it is a user's and not registered in this process.
    MissingLibraryError
        When it needs a library that is not installed.
    """
    if rule is None:
        return None
    if rule == "json":
        return JsonValidator(serializer)
    if isinstance(schema := only_key(rule, "schema"), Mapping | bool):
        return SchemaValidator(schema, serializer)
    if isinstance(name := only_key(rule, "user"), str):
        return _User(OWN[name], serializer)
    raise InvalidError(f"validator: {rule!r}; accepted are None, 'json', {{'schema': {{...}}}} and {{'user': name}}")


def _as_json(value: Any) -> Any:
    """Return a record as the mapping that it stands for; other values as they are."""
    import numpy as np

    if isinstance(value, np.void) and value.dtype.names is not None:
        return {name: _plain(value[name]) for name in value.dtype.names}
    return value


def _plain(value: Any) -> Any:
    plain = value.tolist() if hasattr(value, "tolist") else value
    return plain.decode(errors="replace") if isinstance(plain, bytes) else plain


def json_text(rule: Rule) -> str:
    """Return the text in which a rule is stored.

    Raises
    ------
    InvalidError
        When it is not JSON.
    """
    try:
        return json.dumps(rule, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"create_topic: rule {rule!r} is not JSON: {error}") from None
