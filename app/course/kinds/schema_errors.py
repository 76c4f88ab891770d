"""Errors of the schema of exercise files, in plain words and with a cure."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.core import validation
from app.core.errors import ContentError, nearest
from app.core.quotation import plain
from app.core.units.scales import SCALES
from app.core.yaml_file import YamlDocument
from app.course.kinds import KINDS, Where

_NOT_WRITTEN = {"id", "digest", "chapter_parameters"}
_UNIT = re.compile(r"'([^']+)' is not a unit here")
_UNITS = "units are written as in 2 GB, 50 GB/s, 5 us, 989 TFLOP/s; /authoring/units lists them"
_ELSEWHERE = "/authoring lists what is allowed here"
_LONGEST = 40  # characters of a value that is quoted

# The sentence where it is another one in a file, and the cure; {given} is the value in the file.
_NOT = {kind: f"must be {what}, not {{given}}" for kind, what in validation.TYPES.items()}
_SAYS: Mapping[str, str] = {
    **_NOT,
    **validation.SENTENCES,
    "dict_type": "must be keys with values, not {given}",
    "model_type": "must be keys with values, not {given}",
    "string_too_short": "is too short: {given}",
    "string_too_long": "is too long",
    "string_pattern_mismatch": ("is {given}, and a name here has lowercase letters, digits and hyphens"),
}
_DIGITS = "write digits only"
_OF_ONE = ("string_type", "too_short", "too_long")  # whose cure a mapping or a list can take
_CURES: Mapping[str, str] = {
    "list_type": "put it in brackets: [{given}]",
    "tuple_type": "put it in brackets: [{given}]",
    "dict_type": "write name: value, one per line",
    "model_type": "write name: value, one per line",
    "string_type": 'put it in quotes: "{given}"',
    "int_type": _DIGITS,
    "int_parsing": _DIGITS,
    "int_from_float": _DIGITS,
    "float_parsing": _DIGITS,
    "finite_number": _DIGITS,
    "bool_parsing": "write true or false",
    "url_parsing": "write it in full: https://...",
    "url_scheme": "write it in full: https://...",
    "string_too_short": "write at least {min_length} characters",
    "string_too_long": "write at most {max_length} characters",
    "too_short": "add more",
    "too_long": "remove some",
    "greater_than_equal": "write {ge} or more",
    "less_than_equal": "write {le} or less",
    "greater_than": "write more than {gt}",
    "less_than": "write less than {lt}",
    "literal_error": "write one of {expected}",
    "string_pattern_mismatch": "rename it, such as first-one",
}


@contextmanager
def refuse_faults(
    document: YamlDocument, values: object, model: type[BaseModel] | None = None, where: Where = ()
) -> Iterator[None]:
    """Say of a `ValidationError` in the block what is wrong with *values*, which stand at *where* in *document*.

    They are the values of a *model*, or of an exercise.

    Raises:
        ContentError: with every problem.
    """
    try:
        yield
    except ValidationError as error:
        given = values if isinstance(values, Mapping) else {}
        found = faults(error, given, model)
        raise ContentError([document.problem((*where, *inside), *fault) for inside, *fault in found]) from error


def faults(
    error: ValidationError, values: Mapping[str, object], model: type[BaseModel] | None = None
) -> Iterator[tuple[Where, str, str]]:
    """Where *values* of a *model*, or of an exercise, are wrong, what is wrong there, and how to fix it."""
    seen = set()
    for found in error.errors(include_url=False):
        where: Where = tuple(found["loc"])
        if model is None and where and where[0] in KINDS:  # the tag is not a key of the file
            where = where[1:]
        inner = validation.find_placed_error(found)
        where = (*validation.without_branches(where), *(inner.where if inner else ()))
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
        inner, says = validation.find_placed_error(found), validation.own_words(found)
        cure = inner.cure if inner else unit_cure(says)
        return where, says, cure or _meaning(where, model) or _ELSEWHERE
    given = found["input"] if kind in validation.TYPES else plain(found["input"])
    if given is None:
        told = where[-1:] == ("says",) or where[:1] == ("mistakes",)
        return where, "is empty", "write what to tell them" if told else _meaning(where, model) or _ELSEWHERE
    is_text = not isinstance(given, Mapping | list | tuple)
    texts = {**validation.bounds_of(found), "given": str(given)[:_LONGEST] if is_text else _as_written(given)}
    cure = _CURES.get(kind, "").format(**texts) if is_text or kind in _OF_ONE else ""
    return where, _SAYS[kind].format(**texts), cure or _meaning(where, model) or _ELSEWHERE


def _as_written(given: object) -> str:
    """A mapping or a list as a file has it."""
    import yaml  # a course in a browser is valid

    text = yaml.safe_dump(given, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10**6)
    return text.strip().replace(": null", "")[:_LONGEST]


def unit_cure(says: str) -> str:
    """The cure for a misspelled unit, where *says* mentions one."""
    found = _UNIT.search(says)
    return cure_of_unit(found[1]) if found else ""


def cure_of_unit(name: str) -> str:
    """The cure for *name*, which is not a unit."""
    begins = max((one for one in SCALES if name.startswith(one)), key=len, default="")
    offer = nearest(name, SCALES).removeprefix("; ") or (f"did you mean {begins!r}?" if begins else "")
    return f"{offer} {_UNITS}".strip()


def _unknown(where: Where, values: Mapping[str, object], model: type[BaseModel] | None) -> tuple[str, str]:
    """The sentence on an unknown key, and the keys that exist there."""
    around = validation.model_at(where[:-1], model)
    known = sorted(validation.model_keys(around) - _NOT_WRITTEN) if around else []
    cure = f"the keys here are {', '.join(known)}" if known else "remove it"
    present = values if len(where) == 1 else ()
    return validation.unknown_key(where, model, {*present, *_NOT_WRITTEN}), cure


def _meaning(where: Where, model: type[BaseModel] | None) -> str:
    """The description that the schema has of the key at *where*."""
    around = validation.model_at(where[:-1], model)
    for name, field in (around.model_fields if around else {}).items():
        if where[-1:] in ((name,), (field.alias,)) and field.description:
            return f"it is {field.description}"
    return ""
