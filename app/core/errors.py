"""The errors that the app raises on purpose, and what is wrong with values that pydantic refused."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from app.core.quotation import plain, quote_json
from app.core.translation import offer, translate


class AppError(Exception):
    """Base class of every error below; any other exception is a bug."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a content file: where it is, what is wrong, and the cure."""

    path: Path
    line: int
    says: str
    cure: str = ""

    def __str__(self) -> str:
        cure = f"; {self.cure}" if self.cure else ""
        return f"{self.path}:{self.line}: {self.says}{cure}"


class ContentError(AppError):
    """Content files are not valid; every problem is listed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


class AnswerError(AppError):
    """The learner's text cannot be parsed as an answer."""


class NotFoundError(AppError):
    """Nothing has the given name."""


class InputError(AppError):
    """An argument of a command or a call is not valid."""


class RefusedError(AppError):
    """What another service sent is not accepted; the message says why and what to do."""


class UnavailableError(AppError):
    """A part of the server is unavailable; the message says which, why, and the cure.

    The *cause* is the driver's message. It may name hosts, users and files, and is only for the
    log and the command line.
    """

    def __init__(self, says: str, cause: str = "") -> None:
        self.cause = cause
        super().__init__(says)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that offers the known name closest to *name*, or an empty string.

    >>> nearest("ring_allreduce", ["ring_all_reduce", "tree"])
    "; did you mean 'ring_all_reduce'?"
    """
    offered = offer(name, known)
    return translate(offered) if offered else ""


def capitalize(text: str) -> str:
    """*text* with a capital first letter; `str.capitalize` would lower all others.

    >>> capitalized("the GPUs of a node")
    'The GPUs of a node'
    """
    return text[:1].upper() + text[1:]  # Markup stays Markup


def sentence(text: str) -> str:
    """A message as a sentence: a capital first letter, and a full stop where none ends it.

    >>> sentence("ranks must be at least 1, not 0")
    'Ranks must be at least 1, not 0.'
    >>> sentence("No such file.")
    'No such file.'
    """
    return capitalize(text if text.endswith((".", "?", "!")) else text + ".")


Where = tuple[str | int, ...]
_JSON_PLACE = re.compile(r"\A(?P<why>.*) at line (?P<line>\d+) column (?P<column>\d+)", re.DOTALL)
_BRANCH = re.compile(r"(?:constrained-)?(?:int|float|str|bool)|.*\[.*")

_FINITE, _NOT_JSON = "a finite number", "json_invalid"
_DATE = "a date, such as 2027-05-07"
_MOMENT = "must be a time, such as 2027-05-07T23:59:00+02:00, not {given}"
_OURS = {"value_error", "assertion_error"}  # raised by a check of ours, in its words
_OF_PYDANTIC = {*get_args(ErrorType)} - _OURS

# What a value must be, by the type of error that says it is not.
TYPES: Mapping[str, str] = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": _FINITE,
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "iterable_type": "a list",
    "none_required": "null",
    "path_type": "a path",
    "date_type": _DATE,
    "date_parsing": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_from_datetime_inexact": _DATE,
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dataclass_type": "an object",
    "url_type": "a URL",
    "url_parsing": "a URL",
    "url_scheme": "a URL",
}
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
    return f"is not known here{nearest(str(where[-1]), absent)}"


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
    """The sentence on the *errors* of one value."""
    types = list(dict.fromkeys(TYPES[one["type"]] for one in errors if one["type"] in TYPES))
    error = next((one for one in errors if one["type"] not in TYPES), errors[0])
    given, kind = quote_json(error.get("input")), error["type"]
    if kind in TYPES:
        # A number that is not finite is a number, and every other type was tried.
        types = [_FINITE] if _FINITE in types else types
        return f"must be {_alternatives(types)}, not {given}"
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


def _alternatives(words: list[str]) -> str:
    """*words* as alternatives: a string, a number or a list."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if words[1:] else words[0]


def _lowered(says: str) -> str:
    """*says*, which goes on after a colon; a name in capitals stays."""
    return says if says[1:2].isupper() else f"{says[:1].lower()}{says[1:]}"


def _is_branch(parts: tuple[str | int, ...]) -> bool:
    """Whether the last of *parts* names a type that was tried, and not a key."""
    return bool(parts) and isinstance(parts[-1], str) and bool(_BRANCH.fullmatch(parts[-1]))
