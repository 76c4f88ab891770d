"""What is wrong with values that pydantic refused, in plain words: the same for every door.

A value that could have been one of several types is one problem: "must be a string or a number".
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from app.core.errors import nearest
from app.core.quotation import plain, quote_json

Where = tuple[str | int, ...]
_JSON_PLACE = re.compile(r"\A(?P<why>.*) at line (?P<line>\d+) column (?P<column>\d+)", re.DOTALL)
_BRANCH = re.compile(r"(?:constrained-)?(?:int|float|str|bool)|.*\[.*")

_FINITE, _NOT_JSON = "a finite number", "json_invalid"
_DATE = "a date, such as 2027-05-07"
_MOMENT = "must be a time, such as 2027-05-07T23:59:00+02:00, not {given}"
_OURS = {"value_error", "assertion_error"}  # raised by a check of ours, in its words
_OF_PYDANTIC = {*get_args(ErrorType)} - _OURS

# What a value must be, by the type of error that says it is not.
_TYPES: Mapping[str, str] = {
    "a string": "string_type",
    "a whole number": "int_type int_parsing int_from_float",
    "a number": "float_type float_parsing",
    _FINITE: "finite_number",
    "true or false": "bool_type bool_parsing",
    "a list": "list_type tuple_type set_type frozen_set_type iterable_type",
    "null": "none_required",
    "a path": "path_type",
    _DATE: "date_type date_parsing date_from_datetime_parsing date_from_datetime_inexact",
    "an object": "dict_type mapping_type model_type model_attributes_type dataclass_type",
    "a URL": "url_type url_parsing url_scheme",
}
TYPES = {error: must_be for must_be, errors in _TYPES.items() for error in errors.split()}
# Sentences on values of the right type; {given} is the value.
SENTENCES: Mapping[str, str] = {
    "missing": "is missing",
    "string_too_short": "is too short: {given}; the fewest characters are {min_length}",
    "string_too_long": "is too long: at most {max_length} characters are read",
    "too_short": "has {actual_length} entries, and at least {min_length} are required",
    "too_long": "has {actual_length} entries, and at most {max_length} are allowed",
    "greater_than_equal": "must be at least {ge}, not {given}",
    "less_than_equal": "must be at most {le}, not {given}",
    "greater_than": "must be more than {gt}, not {given}",
    "less_than": "must be less than {lt}, not {given}",
    "literal_error": "is {given}, which is not one of {expected}",
    "timezone_aware": "needs an offset, such as 2027-05-07T23:59:00+02:00, not {given}",
    "datetime_type": _MOMENT,
    "datetime_parsing": _MOMENT,
    "datetime_from_date_parsing": _MOMENT,
    "datetime_object_invalid": _MOMENT,
    "multiple_of": "must be a multiple of {multiple_of}, not {given}",
    "string_pattern_mismatch": "is {given}, which is not written as required here",
    "enum": "is {given}, which is not one of {expected}",
    "int_parsing_size": "has too many digits: {given}",
}


class PlacedError(ValueError):
    """A value that does not go with the others: it is at *where* inside of what was read."""

    def __init__(self, says: str, where: Where, cure: str = "") -> None:
        self.where = where
        self.cure = cure
        super().__init__(says)


def find_placed_error(error: ErrorDetails) -> PlacedError | None:
    """The error itself, if what refused the value knew its place."""
    found = error.get("ctx", {}).get("error")
    return found if isinstance(found, PlacedError) else None


def problems_of(errors: Iterable[ErrorDetails], model: type[BaseModel] | None = None) -> Iterator[tuple[Where, str]]:
    """Where values are wrong, and what is wrong there; *model* is the one that they are for."""
    found: dict[Where, list[ErrorDetails]] = {}
    for error in errors:
        where = error["loc"][:1] if error["type"] == _NOT_JSON else error["loc"]
        found.setdefault(without_branches(where), []).append(error)
    for where, here in found.items():
        is_inside = any(len(other) > len(where) and other[: len(where)] == where for other in found)
        if is_inside and all(_is_branch(error["loc"][-1:]) for error in here):
            continue  # it has the right type, and what is wrong is inside of it
        yield where, _sentence(here, where, model)


def first_problem(errors: Iterable[ErrorDetails], model: type[BaseModel] | None = None) -> str:
    """The first problem, with its place."""
    return problem_text(*next(problems_of(errors, model)))


def problem_text(where: Where, says: str) -> str:
    """A problem on one line: seed: must be a whole number, not "x"."""
    return f"{'.'.join(map(str, where))}: {says}" if where else says


def without_branches(where: Where) -> Where:
    """*where*, without the names of the types that were tried there."""
    return tuple(part for part in where if not _is_branch((part,)))


def unknown_key(where: Where, model: type[BaseModel] | None, present: Iterable[object]) -> str:
    """The sentence on a key that *model* does not have, beside others that are *present*."""
    around = model_at(where[:-1], model)
    absent = set(model_keys(around)) - set(map(str, present)) if around else set()
    key = str(where[-1])
    near = next((f"; did you mean {one!r}?" for one in _SAME_KEYS.get(key, ()) if one in absent), "")
    return f"is not known here{nearest(key, absent) or near}"


# Keys that say the same in other places, where one may look for them.
_SAME_KEYS: Mapping[str, Sequence[str]] = {
    "says": ("prompt", "title"),
    "prompt": ("says",),
    "text": ("says", "prompt"),
    "question": ("prompt",),
    "value": ("answer",),
    "expression": ("answer",),
}


def model_keys(model: type[BaseModel]) -> set[str]:
    """The keys of an object of *model*, as they are written."""
    return {field.alias or name for name, field in model.model_fields.items()}


def model_at(where: Where, model: type[BaseModel] | None) -> type[BaseModel] | None:
    """The model of the value at *where*, which may be in a list or under keys of its own."""
    for part in where:
        if model is None:
            return None
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if part in fields:
            model = model_in(fields[str(part)].annotation)
        # else: a place in a list, or a name that the author chose
    return model


def model_in(annotation: object) -> type[BaseModel] | None:
    """The first model that *annotation* is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, dict, tuple, Union, UnionType, Annotated):
        return next((m for part in get_args(annotation) if (m := model_in(part))), None)
    return None


def _sentence(errors: list[ErrorDetails], where: Where, model: type[BaseModel] | None) -> str:
    types = list(dict.fromkeys(TYPES[one["type"]] for one in errors if one["type"] in TYPES))
    error = next((one for one in errors if one["type"] not in TYPES), errors[0])
    given, kind = quote_json(error.get("input")), error["type"]
    if kind in TYPES:
        # A number that is not finite is a number, and every other type was tried.
        *others, last = [_FINITE] if _FINITE in types else types
        alternatives = f"{', '.join(others)} or {last}" if others else last
        return f"must be {alternatives}, not {given}"
    if kind == _NOT_JSON:
        return _json_sentence(error)
    if kind == "extra_forbidden":
        return unknown_key(where, model, ())
    if kind in SENTENCES:
        given = quote_json(plain(error.get("input")))
        return SENTENCES[kind].format(**bounds_of(error), given=given)
    return _lowered(own_words(error))


def bounds_of(error: ErrorDetails) -> Mapping[str, object]:
    """What pydantic compared a value with, as sentences say it."""
    return {name: plain(bound) for name, bound in error.get("ctx", {}).items()}


def own_words(error: ErrorDetails) -> str:
    """What a check of ours said; if one of pydantic's refused a value, that it is not valid."""
    if error["type"] in _OF_PYDANTIC:
        return f"is not valid: {quote_json(error.get('input'))}"
    return error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")


def _json_sentence(error: ErrorDetails) -> str:
    """Where the text stops being JSON: at a character of its only line, or of another one."""
    why = str(error.get("ctx", {}).get("error", error["msg"]))
    if found := _JSON_PLACE.fullmatch(why):
        line = "" if found["line"] == "1" else f"line {found['line']}, "
        return f"not valid JSON at {line}character {found['column']}: {found['why']}"
    last = error["loc"][-1] if error["loc"] else None  # FastAPI puts the place there
    place = f" at character {last + 1}" if isinstance(last, int) else ""
    return f"not valid JSON{place}: {_lowered(why)}"


def _lowered(says: str) -> str:
    """*says*, which goes on after a colon; a name in capitals stays."""
    return says if says[1:2].isupper() else f"{says[:1].lower()}{says[1:]}"


def _is_branch(parts: tuple[str | int, ...]) -> bool:
    """Whether the last of *parts* names a type that was tried, and not a key."""
    return bool(parts) and isinstance(parts[-1], str) and bool(_BRANCH.fullmatch(parts[-1]))
