"""The fields of a line, and what is wrong with them."""

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import TypeGuard, TypeVar, cast

from app.core.errors import InputError, nearest
from app.core.formulas.checks import positive
from app.core.formulas.configurations import configured_stack, is_configuration, is_layout_configuration
from app.core.formulas.presets import GIVEN, Cluster, Layout, ModelShape, Recipe, Shares
from app.core.formulas.presets.layouts import LAYOUT_FIELDS
from app.core.formulas.presets.stacks import STACK_KEYS, Stack, likely_stack, stack_recipe
from app.core.formulas.records import Record
from app.core.predicting.estimate import PredictionRequest, adapter_share, listed_names
from app.core.units import BYTE, SECOND, Bytes, Seconds, Unit, parse_or_base

Reference = str | int | None
R = TypeVar("R", bound=Record)
RECORDS = ("model", "cluster", "layout")
OPTIONS = ("recipe", "shares", "stack", *STACK_KEYS)
FIELDS = ("ref", *RECORDS, *OPTIONS, "measured", "measured_memory", "group")
_SEQUENCE = re.compile(
    rf"\b_*(?:{'|'.join(['sequence', *(name for name, ours in LAYOUT_FIELDS.items() if ours == 'sequence')])})\b"
)
_LONGEST = 2000  # characters of a record as text
_LONGEST_GROUP = 200
_REMEMBERED = 1000  # records that are read once
_REMEMBERED_LENGTH = 1000  # characters of what is remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionLine:
    """A line: what is predicted, and what was measured; 0 where nothing was."""

    asked: PredictionRequest
    ref: Reference = None
    measured: Seconds = 0.0
    measured_memory: Bytes = 0.0
    group: str = ""


class PredictionReader:
    """Reads lines; records that are written alike are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[type[Record], type, str], Record] = {}

    def read(self, line: bytes) -> PredictionLine:
        """What *line* says.

        Raises:
            InputError: it is not JSON, a field is unknown or missing, or a value is not valid.
        """
        given = _object(line)
        for name in given:
            if name not in FIELDS:
                offer = nearest(name, FIELDS) or f"; a line has {', '.join(FIELDS)}"
                raise InputError(f"no field is called {name!r}{offer}")
        ref, group = given.get("ref"), given.get("group") or ""
        if isinstance(ref, bool) or not isinstance(ref, str | int | None):
            raise InputError(f"ref must be text or a whole number, not {short(ref)}")
        if not isinstance(group, str) or len(group) > _LONGEST_GROUP:
            raise InputError(f"group must be text of at most {_LONGEST_GROUP} characters, not {short(group)}")
        return PredictionLine(
            asked=self.asked(given),
            ref=ref,
            measured=_measured(given, "measured", SECOND),
            measured_memory=_measured(given, "measured_memory", BYTE),
            group=group,
        )

    def asked(self, given: Mapping[str, object]) -> PredictionRequest:
        """The records of *given*.

        Raises:
            InputError: one is missing, or cannot be read.
        """
        if missing := [name for name in RECORDS if name not in given]:
            raise InputError(f"{listed_names(missing)} must be given")
        model = self._record(ModelShape, "model", given["model"])
        cluster = self._record(Cluster, "cluster", given["cluster"])
        layout, told = self._layout(given["layout"], model, cluster)
        given = {**told, **{name: value for name, value in given.items() if value is not None}}
        recipe = self._optional(Recipe, "recipe", given)
        named = self._optional(Stack, "stack", given)
        stack = named or likely_stack(layout, cluster.gpu, recipe)
        try:
            stack = stack.changed({key: value for key in STACK_KEYS if (value := given.get(key)) is not None})
        except ValueError as error:
            raise InputError(str(error)) from None
        if stack.gradient_checkpointing != "unknown":
            layout = replace(layout, recompute="full" if stack.gradient_checkpointing == "yes" else "none")
        return PredictionRequest(
            model=model,
            cluster=cluster,
            layout=layout,
            recipe=stack_recipe(stack, recipe, adapter_share(model, stack) if stack.adapter != "none" else 1.0),
            shares=self._optional(Shares, "shares", given) or GIVEN,
            stack=stack,
            is_named=named is not None,
            has_recipe=recipe is not None,
            assumed=_assumed(given["layout"], layout),
        )

    def _layout(self, given: object, model: ModelShape, cluster: Cluster) -> tuple[Layout, Mapping[str, object]]:
        """The layout, and what it says of the stack; one in a configuration is for the GPUs of *cluster*."""
        if not _is_configured(given):
            return self._record(Layout, "layout", given), {}
        _check_length("layout", given)
        try:
            layout = Layout.on(given, cluster.gpus, model.layers)
        except ValueError as error:
            raise InputError(f"layout: {error}") from None
        return layout, configured_stack(given)

    def _optional(self, kind: type[R], name: str, given: Mapping[str, object]) -> R | None:
        value = given.get(name)
        return None if value is None else self._record(kind, name, value)

    def _record(self, kind: type[R], name: str, given: object) -> R:
        written = given if isinstance(given, str) else repr(given)
        known = self._known.get((kind, type(given), written))
        if isinstance(known, kind):
            return known
        made = _read_record_reader(kind, name, given)
        if len(written) <= _REMEMBERED_LENGTH:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[kind, type(given), written] = made
        return made


def _is_configured(given: object) -> TypeGuard[str | Mapping[str, object]]:
    """Whether a layout is in the configuration of a program."""
    if isinstance(given, str):
        return is_configuration(given)
    return isinstance(given, Mapping) and is_layout_configuration(given)


def _assumed(given: object, layout: Layout) -> str:
    """What *layout* has that was not *given*, and that the result depends on most."""
    is_known = Layout.has(layout.name)
    if is_known or layout.sequence != Layout.sequence or _SEQUENCE.search(str(given).replace("-", "_")):
        return ""
    return f"Sequences of {layout.sequence:,} tokens are assumed; the layout may say otherwise, as in sequence=4096."


def _read_record_reader(kind: type[R], name: str, given: object) -> R:
    """The record under *name*, written as text or as an object."""
    _check_length(name, given)
    try:
        if isinstance(given, str):
            return kind.read(given)
        if isinstance(given, Mapping):
            return kind.of(given)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from None
    raise InputError(f"{name} must be text or an object, not {short(given)}")


def _check_length(name: str, given: object) -> None:
    """Refuse a text that is too long; a configuration has a limit of its own."""
    if isinstance(given, str) and len(given) > _LONGEST and not is_configuration(given):
        raise InputError(f"{name}: at most {_LONGEST:,} characters are read, not {len(given):,}")


def line_reference(line: bytes) -> Reference:
    """The `ref` of *line*, which may not be valid otherwise."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return None
    found = given.get("ref") if isinstance(given, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _object(line: bytes) -> Mapping[str, object]:
    try:
        given = json.loads(line.removeprefix(BOM_UTF8).decode(), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON at character {error.pos + 1}: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, deep nesting
        raise InputError(f"not valid JSON: {error}") from None
    if not isinstance(given, dict):
        raise InputError(f'must be a JSON object such as {{"model": ...}}, not {short(given)}')
    return given


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    given = dict(pairs)
    if len(given) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise InputError(f"{short(names.most_common(1)[0][0])} is given twice")
    return given


def _measured(given: Mapping[str, object], name: str, unit: Unit) -> float:
    """The number under *name*, in *unit*; 0 if there is none."""
    value = given.get(name)
    if value is None:
        return 0.0
    if isinstance(value, str):
        try:
            value = parse_or_base(value, unit)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
    return float(positive(name, cast(float, value)))  # refuses what is not a number
