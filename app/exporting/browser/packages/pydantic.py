"""In place of pydantic, in a browser: values that were validated at export, and plain types.

What the course consists of arrives as objects that pydantic has validated already, so classes need
no more here than their fields with the defaults. What a visitor brings, which is an answer or a
file of progress, is compared with the types of the fields.
"""

import json
import types
from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

T = TypeVar("T")
_MISSING = object()
_UNIONS = (Union, types.UnionType)


class ValidationError(ValueError):
    """A value is not of the type of its field; *errors* has the first one."""

    def __init__(self, kind: str, place: tuple[str, ...], says: str, given: object) -> None:
        super().__init__(says)
        self._first = {"type": kind, "loc": place, "msg": says, "input": given}

    def errors(self, **_: object) -> list[dict[str, Any]]:
        """What is wrong, in the form of pydantic."""
        return [self._first]


class FieldInfo:
    """A field: its type, and its default or what makes it."""

    def __init__(self, default: object, default_factory: Callable[[], object] | None) -> None:
        self.default = default
        self.default_factory = default_factory
        self.annotation: object = None
        self.alias = ""

    def value(self) -> object:
        """The default, made for each object; missing if there is none."""
        return self.default_factory() if self.default_factory else self.default


def Field(  # noqa: N802 - the name in pydantic
    default: Any = _MISSING, *, default_factory: Callable[[], Any] | None = None, **more: Any
) -> Any:
    """A field of a class; its limits were checked at export."""
    found = FieldInfo(default, default_factory)
    found.alias = str(more.get("alias", ""))
    return found


PrivateAttr = Field


class BaseModel:
    """An object with fields: built from keywords, or as it was when the course was exported."""

    model_fields: dict[str, FieldInfo] = {}
    _own: dict[str, FieldInfo] = {}

    def __init_subclass__(cls, **_: object) -> None:
        cls.model_fields, cls._own = dict(cls.model_fields), dict(cls._own)
        for base in reversed(cls.__mro__[1:]):
            cls.model_fields |= getattr(base, "model_fields", {})
            cls._own |= getattr(base, "_own", {})
        for name, annotation in get_annotations(cls).items():
            if "ClassVar" in str(annotation) or name in ("model_fields", "_own"):
                continue
            given = cls.__dict__.get(name, _MISSING)
            found = given if isinstance(given, FieldInfo) else FieldInfo(given, None)
            found.annotation = annotation
            (cls._own if name.startswith("_") else cls.model_fields)[name] = found
            if name in cls.__dict__:
                delattr(cls, name)

    def __init__(self, **given: object) -> None:
        for name, field in self.model_fields.items():
            value = given.get(name, given.get(field.alias, _MISSING))
            self.__dict__[name] = field.value() if value is _MISSING else value
        self.model_post_init(None)

    def model_post_init(self, _: object) -> None:
        """Give the private attributes their defaults."""
        for name, field in self._own.items():
            self.__dict__.setdefault(name, field.value())

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.model_post_init(None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self._items())})"

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and repr(self) == repr(other))

    def __hash__(self) -> int:
        return hash(repr(self))

    def _items(self) -> list[tuple[str, object]]:
        return [(name, self.__dict__[name]) for name in self.model_fields]

    @classmethod
    def model_validate(cls: type[T], values: Mapping[str, object]) -> T:
        """An object with *values*, each of the type of its field.

        Raises:
            ValidationError: one of them is missing, is of another type, or is not a field.
        """
        fields: Mapping[str, FieldInfo] = getattr(cls, "model_fields")  # noqa: B009
        for name, field in fields.items():
            if name in values:
                _check((name,), values[name], field.annotation)
            elif field.default is _MISSING and field.default_factory is None:
                raise ValidationError("missing", (name,), "Field required", None)
        for name, value in values.items():
            if name not in fields:
                raise ValidationError("extra", (name,), "Extra inputs are not permitted", value)
        return cls(**values)


def _check(place: tuple[str, ...], value: object, annotation: object) -> None:
    if not _fits(value, annotation):
        says = f"a value of the type {getattr(annotation, '__name__', annotation)} is expected"
        raise ValidationError("type", place, says, value)


def _fits(value: object, annotation: object) -> bool:
    """Whether *value* is of the type *annotation*, as far as its members, too."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _fits(value, inner[0])
    if origin in _UNIONS:
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    if origin is list:
        return isinstance(value, list) and all(_fits(one, inner[0]) for one in value)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_fits(key, inner[0]) and _fits(one, inner[1]) for key, one in pairs)
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return (
        annotation is None
        and value is None
        or (isinstance(annotation, type) and isinstance(value, annotation))
    )


class TypeAdapter:
    """Compares a value with a type."""

    def __init__(self, annotation: object) -> None:
        self._annotation = annotation

    def __class_getitem__(cls, _: object) -> type["TypeAdapter"]:
        return cls

    def validate_python(self, value: Any, **_: object) -> Any:
        """*value*, which is of the type.

        Raises:
            ValidationError: it is not.
        """
        _check((), value, self._annotation)
        return value

    def validate_json(self, text: str) -> Any:
        """The value that is written in *text*, which is of the type.

        Raises:
            ValidationError: it is not.
        """
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValidationError("json_invalid", (), f"not JSON: {error}", text) from error
        return self.validate_python(value)


def ConfigDict(**_: object) -> dict[str, object]:  # noqa: N802 - the name in pydantic
    """Nothing: what it asks for was done at export."""
    return {}


class AfterValidator:
    """Nothing: it was called at export."""

    def __init__(self, _: object) -> None:
        pass


def model_validator(**_: object) -> Callable[[T], T]:
    """The method as it is, which was called at export."""
    return lambda method: method


field_validator = model_validator


def _any_fields(*_: object, **__: object) -> Callable[[T], T]:
    return lambda method: method


field_validator = _any_fields
HttpUrl = str
AwareDatetime = object
