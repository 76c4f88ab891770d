"""Named records that formulas take: a GPU, a model's shape, a layout."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache, partial
from reprlib import repr as short
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple, Self, get_args, get_origin, get_type_hints

from app.core.formulas.checks import at_least, one_of, positive, recorded, whole
from app.core.translation import language, noted, offer, say, value_error
from app.core.units import COUNT, Unit, parse_or_base

Single = float | str | bool
FieldCheck = Callable[..., object]  # of the name and the value of a field
_LONGEST_NAME = 300  # letters of an unknown name that are quoted
_REMEMBERED = 4096  # texts of numbers, each read once
# What was read of each class, which mypy does not let a cache of the library have as its key.
_HINTS: dict[type, Mapping[str, object]] = {}
_FORMS: dict[type, Mapping[str, "ValueForm"]] = {}
_NAMES: dict[type, Mapping[str, str]] = {}
_CHECKS: dict[type, Sequence[tuple[str, "FieldCheck"]]] = {}
_YES, _NO = {"true", "yes", "1", "t", "y"}, {"false", "no", "0", "f", "n"}
_FIELD = re.compile(r"(?:^|[\s,;])-{0,2}(\w+(?:-\w+)*)\s*=")


@dataclass(frozen=True)
class Record:
    """Base of the records that a formula takes; the unit of each field is in its annotation.

    A record is written as a known name, as `field=value` pairs, or as a name with some fields
    changed: `Llama-3.1-405B`, `tensor=8 pipeline=16`, `Llama-3.1-8B layers=40`.
    """

    what: ClassVar[str] = "record"
    unpublished: ClassVar[frozenset[str]] = frozenset()  # fields where 0 means unpublished
    elsewhere: ClassVar[Mapping[str, str]] = {}  # fields by the names that others have for them
    aliases: ClassVar[Mapping[str, str]] = {}  # known records by what many call them
    least: ClassVar[Mapping[str, float]] = {}  # of fields whose default or unit does not tell it
    published: ClassVar[Mapping[str, "Record"]] = {}

    def __post_init__(self) -> None:
        """Refuse a value that its field cannot have: see `_field_check`."""
        cls = type(self)
        if cls not in _CHECKS:
            found = ((f.name, _field_check(_forms(cls)[f.name], f.default, cls.least.get(f.name))) for f in fields(cls))
            _CHECKS[cls] = [(name, check) for name, check in found if check is not None]
        for name, check in _CHECKS[cls]:
            check(name, getattr(self, name))

    @classmethod
    def publish(cls, records: Mapping[str, Self]) -> Mapping[str, Self]:
        """*records* by their names, which are the known ones from now on."""
        cls.published = MappingProxyType(records)
        return cls.known()

    @classmethod
    def known(cls) -> Mapping[str, Self]:
        """The records with a published name."""
        return cls.published  # type: ignore[return-value]

    @classmethod
    def has(cls, name: str) -> bool:
        """Whether a known record has this *name*; case, spaces and punctuation do not matter."""
        return _plain_name(name) in _plain_names(cls)

    @classmethod
    def named(cls, name: str) -> Self:
        """The record called *name*; case, spaces and punctuation do not matter.

        Raises:
            ValueError: there is none; the message offers the closest name.
        """
        plain = _plain_names(cls)
        if (key := plain.get(_plain_name(name))) is not None:
            return cls.known()[key]
        raise ValueError(cls._unknown(name))

    @classmethod
    def read(cls, text: str) -> Self:
        """The record written as *text*.

        Raises:
            ValueError: a name or a field is unknown, or a value is not valid.
        """
        pieces = _FIELD.split(text)
        name = pieces[0].strip(" ,;")
        # The last one counts, so that fields can be changed behind the text of a record.
        given = {key: value.strip(" ,;") for key, value in zip(pieces[1::2], pieces[2::2], strict=True)}
        return cls._changed(cls.named(name), given) if name else cls.of(given)

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """The record with the fields *given*: numbers in base units, texts with units, records.

        If it has the name of a known record, the fields that are not given are those of that
        record, as in `{"name": "Llama-3.1-8B", "layers": 40}`.

        Raises:
            ValueError: a field is unknown or missing, or a value is not valid.
        """
        name = given.get("name")
        known = _plain_names(cls).get(_plain_name(name)) if isinstance(name, str) else None
        if known is not None:
            others = {key: value for key, value in given.items() if key != "name"}
            return cls._changed(cls.known()[known], others)
        values = {key: field_value(cls, key, value) for key, value in given.items()}
        needed = [field.name for field in fields(cls) if field.default is MISSING and field.name not in values]
        if not needed:
            return cls(**values)
        raise ValueError(cls._lacks(", ".join(needed), name))

    @classmethod
    def _lacks(cls, names: str, name: object) -> str:
        if isinstance(name, str):
            form = noted("a new {what} also needs {names}; {problem}")
            return say(form, what=cls.what, names=names, problem=cls._unknown(name))
        known = _all(cls.known())
        return say("a {what} also needs {names}{known}", what=cls.what, names=names, known=known)

    @classmethod
    def _changed(cls, known: Self, given: Mapping[str, object]) -> Self:
        changed = {key: field_value(cls, key, value) for key, value in given.items()}
        return replace(known, **changed) if changed else known

    @classmethod
    def _unknown(cls, name: str) -> str:
        plain, name = _plain_names(cls), name[:_LONGEST_NAME]
        closest = get_close_matches(_plain_name(name), plain, n=1, cutoff=0.5)
        near = say("; did you mean {name!r}?", name=plain[closest[0]]) if closest else ""
        return say("no {what} is called {name!r}{offer}", what=cls.what, name=name, offer=near or _all(cls.known()))

    @property
    def text(self) -> str:
        """The text from which `read` returns this record."""
        for name, record in self.known().items():
            if record == self:
                return name
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return " ".join(f"{k}={v.text if isinstance(v, Record) else v}" for k, v in pairs)


def _all(known: Mapping[str, object]) -> str:
    return say("; known are {names}", names=", ".join(known)) if known else ""


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _plain_names(cls: type[Record]) -> Mapping[str, str]:
    if cls not in _NAMES:
        aliases = {_plain_name(alias): name for alias, name in cls.aliases.items()}
        _NAMES[cls] = aliases | {_plain_name(name): name for name in cls.known()}
    return _NAMES[cls]


FieldValue = Single | Record


def hints_of(cls: type[Record]) -> Mapping[str, object]:
    """The annotation of every field of *cls*."""
    if cls not in _HINTS:
        hints = get_type_hints(cls, include_extras=True)
        _HINTS[cls] = {field.name: hints[field.name] for field in fields(cls)}
    return _HINTS[cls]


class ValueForm(NamedTuple):
    """What an annotation says that a value is: a number in *unit*, one of *choices*, a *record*, or text."""

    unit: Unit | None
    choices: tuple[Single, ...]
    record: type[Record] | None


def value_form(hint: object) -> ValueForm:
    """What a value annotated with *hint* is."""
    record = hint if isinstance(hint, type) and issubclass(hint, Record) else None
    unit = next((n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Unit)), None)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    return ValueForm(unit, (True, False) if hint is bool else choices, record)


def _forms(cls: type[Record]) -> Mapping[str, ValueForm]:
    if cls not in _FORMS:
        _FORMS[cls] = {name: value_form(hint) for name, hint in hints_of(cls).items()}
    return _FORMS[cls]


def _field_check(form: ValueForm, default: object, least: float | None) -> FieldCheck | None:
    """The check of a field: a number is at least *least*, or 0 if that is its default, and else above 0."""
    if form.record is not None:
        return partial(recorded, kind=form.record)
    if form.choices:
        return partial(one_of, allowed=sorted(form.choices) if form.choices == (True, False) else form.choices)
    if form.unit is None:
        return None
    if least is None and isinstance(default, int | float) and default <= 0:
        least = default
    if form.unit is COUNT:
        return partial(whole, least=1 if least is None else int(least))
    return positive if least is None else partial(at_least, least=least)


def field_value(cls: type[Record], key: str, given: object) -> FieldValue:
    """The value of the field *key* of *cls* that *given* stands for.

    Raises:
        ValueError: the field does not exist, or it has no such value.
    """
    forms = _forms(cls)
    if key not in forms:
        ours = cls.elsewhere.get(key.lower().strip("-").replace("-", "_"))
        near = (
            say("; did you mean {name!r}?", name=ours)
            if ours
            else offer(key, forms, say(": it has {names}", names=", ".join(forms)))
        )
        raise value_error("a {what} has no field {name!r}{offer}", what=cls.what, name=key, offer=near)
    form = forms[key]
    if form.record is not None:
        return _nested(form.record, key, given)
    if isinstance(given, float) and given.is_integer() and form.unit in (COUNT, None):
        given = int(given)
    if form.choices:
        return choice_named(key, given if isinstance(given, str) else _written_short(given), form.choices)
    if isinstance(given, str):
        return given if form.unit is None else number_named(key, given, form.unit)
    if form.unit is not None and isinstance(given, int | float):
        return given
    takes = noted("a number, or text with a unit") if form.unit else noted("text")
    raise value_error("{name} must be {takes}, not {value}", name=key, takes=takes, value=_written_short(given))


def _written_short(given: object) -> str:
    """*given* as JSON writes it, shortened."""
    if given is None:
        return "null"
    return str(given).lower() if isinstance(given, bool) else short(given)


def _nested(record: type[Record], key: str, given: object) -> Record:
    if isinstance(given, str):
        return record.read(given)
    if isinstance(given, Mapping):
        return record.of(given)
    form = noted("{name} must be a {what}, its name or its fields, not {value}")
    raise value_error(form, name=key, what=record.what, value=_written_short(given))


def number_named(key: str, text: str, unit: Unit) -> float:
    """The number in *unit* that *text* is as the value of *key*; a bare number is in *unit* already.

    Raises:
        ValueError: it is none.
    """
    return _number_in(language(), key, text, unit)


@lru_cache(_REMEMBERED)
def _number_in(_language: str, key: str, text: str, unit: Unit) -> float:
    """What *text* is on a page in that language: 1,750 may be 1.75."""
    try:
        value = parse_or_base(text, unit)
    except ValueError as error:
        raise value_error("{name}: {problem}", name=key, problem=error) from None
    return int(value) if unit is COUNT and value == int(value) else value


def choice_named(key: str, text: str, choices: tuple[Single, ...]) -> Single:
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
    form = noted("{name} must be one of {allowed}, not {value!r}{offer}")
    raise value_error(form, name=key, allowed=", ".join(known), value=text, offer=offer(written, known))
