"""Errors of the schema of exercise files, in plain words and with a cure."""

import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.errors import nearest
from app.kinds import KINDS, Where
from app.units.scales import SCALES

_NOT_WRITTEN = {"id", "digest", "chapter_parameters"}
_UNIT = re.compile(r"'([^']+)' is not a unit here")
_UNITS = "units are written as in 2 GB, 50 GB/s, 400 Gbit/s, 5 us, 989 TFLOP/s"
_ELSEWHERE = "/authoring lists what is allowed here"
_LONGEST = 40  # characters of a value that is quoted

# Sentence and cure for each type of pydantic error; {given} is the value in the file.
_SAYS: Mapping[str, tuple[str, str]] = {
    "missing": ("is missing", ""),
    "list_type": ("must be a list, not {given}", "put it in brackets: [{given}]"),
    "dict_type": ("must be keys with values, not {given}", "write name: value, one per line"),
    "model_type": ("must be keys with values, not {given}", "write name: value, one per line"),
    "string_type": ("must be a string, not {given}", 'put it in quotes: "{given}"'),
    "int_type": ("must be a whole number, not {given}", "write digits only"),
    "int_parsing": ("must be a whole number, not {given}", "write digits only"),
    "int_from_float": ("must be a whole number, not {given}", "write digits only"),
    "float_parsing": ("must be a number, not {given}", "write digits only"),
    "finite_number": ("must be a finite number, not {given}", "write digits only"),
    "bool_parsing": ("must be true or false, not {given}", "write true or false"),
    "url_parsing": ("must be a URL, not {given}", "write it in full: https://..."),
    "url_scheme": ("must be a URL, not {given}", "write it in full: https://..."),
    "string_too_short": ("is too short: {given}", "write at least {min_length} characters"),
    "string_too_long": ("is too long", "write at most {max_length} characters"),
    "too_short": (
        "has {actual_length} entries, and at least {min_length} are required",
        "add more",
    ),
    "too_long": (
        "has {actual_length} entries, and at most {max_length} are allowed",
        "remove some",
    ),
    "greater_than_equal": ("must be at least {ge}, not {given}", "write {ge} or more"),
    "less_than_equal": ("must be at most {le}, not {given}", "write {le} or less"),
    "greater_than": ("must be more than {gt}, not {given}", "write more than {gt}"),
    "less_than": ("must be less than {lt}, not {given}", "write less than {lt}"),
    "literal_error": ("is {given}, which is not one of {expected}", "write one of {expected}"),
    "string_pattern_mismatch": (
        "is {given}, and a name here has lowercase letters, digits and hyphens",
        "rename it, such as first-one",
    ),
}


def faults(
    error: ValidationError, values: Mapping[str, object], model: type[BaseModel] | None = None
) -> Iterator[tuple[Where, str, str]]:
    """Where *values* are wrong, what is wrong there, and how to fix it.

    They are the values of a *model*, or of an exercise, whose kind they name.
    """
    seen = set()
    for found in error.errors(include_url=False):
        where: Where = tuple(found["loc"])
        if model is None and where and where[0] in KINDS:  # the tag is not a key of the file
            where = where[1:]
        where = tuple(part for part in where if not _is_branch(part))
        fault = _fault(found, where, values, model or KINDS.get(str(values.get("kind"))))
        if fault not in seen:
            seen.add(fault)
            yield fault


def _fault(
    found: ErrorDetails, where: Where, values: Mapping[str, object], model: type[BaseModel] | None
) -> tuple[Where, str, str]:
    kind = found["type"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        near = nearest(str(values.get("kind", "")), KINDS)
        return ("kind",), f"must be one of {', '.join(KINDS)}{near}", "name a kind: /authoring"
    if kind == "extra_forbidden":
        return where, *_unknown(where, values, model)
    if kind == "missing":
        return where, "is missing", _meaning(where, model) or f"add {where[-1]}"
    if kind not in _SAYS:
        says = found["msg"].removeprefix("Value error, ")
        return where, says, unit_cure(says) or _meaning(where, model) or _ELSEWHERE
    says, cure = _SAYS[kind]
    given = str(found["input"])
    texts = {**found.get("ctx", {}), "given": given[:_LONGEST]}
    return where, says.format(**texts), cure.format(**texts)


def unit_cure(says: str) -> str:
    """The cure for a misspelled unit, where *says* mentions one."""
    found = _UNIT.search(says)
    if not found:
        return ""
    near = nearest(found[1], SCALES).removeprefix("; ")
    return f"{near} {_UNITS}".strip()


def _unknown(
    where: Where, values: Mapping[str, object], model: type[BaseModel] | None
) -> tuple[str, str]:
    """The sentence on an unknown key, and the keys that exist there."""
    around = _model_at(where[:-1], model)
    known = sorted(_keys(around)) if around else []
    absent = set(known) - set(values) if len(where) == 1 else known
    cure = f"the keys here are {', '.join(known)}" if known else "remove it"
    return f"is not known here{nearest(str(where[-1]), absent)}", cure


def _keys(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()} - _NOT_WRITTEN


def _meaning(where: Where, model: type[BaseModel] | None) -> str:
    """The description that the schema has of the key at *where*."""
    around = _model_at(where[:-1], model)
    for name, field in (around.model_fields if around else {}).items():
        if where[-1:] in ((name,), (field.alias,)) and field.description:
            return f"it is {field.description}"
    return ""


def _model_at(where: Where, model: type[BaseModel] | None) -> type[BaseModel] | None:
    """The model of the value at *where*, which may be in a list or under keys of its own."""
    for part in where:
        if model is None:
            return None
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        if part in fields:
            model = _model_in(fields[str(part)].annotation)
        # else: a place in a list, or a name that the author chose
    return model


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The first model that *annotation* is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, dict, tuple, Union, UnionType, Annotated):
        return next((m for part in get_args(annotation) if (m := _model_in(part))), None)
    return None


def _is_branch(part: str | int) -> bool:
    """Whether *part* of a way names a branch that was tried, and not a key of the file."""
    return isinstance(part, str) and (part in ("int", "float", "str") or "[" in part)
