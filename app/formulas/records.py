"""Named records that formulas take: a GPU, a model's shape, a layout."""

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from app.units import COUNT, Unit, parse_or_base

_HINTS: dict[type, Mapping[str, Any]] = {}
_YES, _NO = {"true", "yes", "1", "t", "y"}, {"false", "no", "0", "f", "n"}
_FIELD = re.compile(r"(?:^|[\s,;])(\w+)\s*=")


@dataclass(frozen=True)
class Record:
    """Base of the records that a formula takes; the unit of each field is in its annotation.

    A record is written as a known name, as `field=value` pairs, or as a name with some fields
    changed: `Llama-3.1-405B`, `tensor=8 pipeline=16`, `Llama-3.1-8B layers=40`.
    """

    what: ClassVar[str] = "record"
    unpublished: ClassVar[frozenset[str]] = frozenset()  # fields where 0 means unpublished

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records with a published name."""
        return {}

    @classmethod
    def named(cls, name: str) -> Self:
        """The record called *name*; case, spaces and punctuation do not matter.

        Raises:
            ValueError: there is none; the message offers the closest name.
        """
        known = cls.known()
        plain = {_plain(key): key for key in known}
        if (key := plain.get(_plain(name))) is not None:
            return known[key]
        closest = get_close_matches(_plain(name), plain, n=1, cutoff=0.5)
        offer = f"; did you mean {plain[closest[0]]!r}?" if closest else ""
        raise ValueError(f"no {cls.what} is called {name!r}{offer or _all(known)}")

    @classmethod
    def read(cls, text: str) -> Self:
        """The record written as *text*.

        Raises:
            ValueError: a name or a field is unknown, or a value is not valid.
        """
        pieces = _FIELD.split(text)
        name = pieces[0].strip(" ,;")
        changed = {
            key: _value(cls, key, value.strip(" ,;"))
            for key, value in zip(pieces[1::2], pieces[2::2], strict=True)
        }
        if name:
            return replace(cls.named(name), **changed)
        needed = [f.name for f in fields(cls) if f.default is MISSING and f.name not in changed]
        if needed:
            raise ValueError(f"a {cls.what} also needs {', '.join(needed)}{_all(cls.known())}")
        return cls(**changed)

    @property
    def text(self) -> str:
        """The text from which `read` returns this record."""
        for name, record in self.known().items():
            if record == self:
                return name
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return " ".join(f"{k}={v.text if isinstance(v, Record) else v}" for k, v in pairs)


def _all(known: Mapping[str, object]) -> str:
    return f"; known are {', '.join(known)}" if known else ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def hints_of(cls: type[Record]) -> Mapping[str, Any]:
    """The annotation of every field of *cls*."""
    if cls not in _HINTS:
        hints = get_type_hints(cls, include_extras=True)
        _HINTS[cls] = {field.name: hints[field.name] for field in fields(cls)}
    return _HINTS[cls]


def _value(cls: type[Record], key: str, text: str) -> Any:
    hints = hints_of(cls)
    if key not in hints:
        closest = get_close_matches(key, hints, n=1)
        offer = f"; did you mean {closest[0]!r}?" if closest else f": it has {', '.join(hints)}"
        raise ValueError(f"a {cls.what} has no field {key!r}{offer}")
    hint = hints[key]
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.read(text)
    if choices := _choices(hint):
        return chosen(key, text, choices)
    unit = next((n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Unit)), None)
    if unit is None:
        return text
    try:
        value = parse_or_base(text, unit)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    return int(value) if unit is COUNT and value == int(value) else value


def _choices(hint: Any) -> tuple[Any, ...]:
    if hint is bool:
        return (True, False)
    return get_args(hint) if str(get_origin(hint)) == "typing.Literal" else ()


def chosen(key: str, text: str, choices: tuple[Any, ...]) -> Any:
    """The one of *choices* that *text* names; yes and no mean true and false.

    Raises:
        ValueError: there is none; the message offers the closest choice.
    """
    written = text.strip().lower()
    if choices == (True, False) and written in _YES | _NO:
        return written in _YES
    known = {str(choice).lower(): choice for choice in choices}
    if written in known:
        return known[written]
    closest = get_close_matches(written, known, n=1)
    offer = f"; did you mean {closest[0]!r}?" if closest else ""
    raise ValueError(f"{key} must be one of {', '.join(known)}, not {text!r}{offer}")


def field_value(cls: type[Record], key: str, text: str) -> Any:
    """The value of the field *key* of *cls* that *text* stands for.

    Raises:
        ValueError: there is no such field, or the text is not a value of it.
    """
    return _value(cls, key, text)
