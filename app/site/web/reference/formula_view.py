"""The pages of formulas as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from app.core.errors import NotFoundError
from app.core.expressions import read_argument
from app.core.formulas import FORMULAS, MOST_PARTS, Argument, Formula, Input, formula_value, lookup, shown_default
from app.core.translation import SOURCE, foreign, localized, noted, say, translate, translate_known
from app.core.units import in_english, list_in_english, show
from app.course.content.catalog import Catalog
from app.course.content.errata import errata
from app.site.web.frame.renderer import Hyperlink
from app.site.web.reference.docstrings import Documented, documented
from app.site.web.urls import erratum_url, exercise_url

_TITLES = {
    "collectives": noted("Collectives"),
    "networks": noted("Networks"),
    "memory": noted("Memory"),
    "batching": noted("Batches and rates"),
    "optimizers": noted("Optimizers"),
    "overlap": noted("Overlap"),
    "pipeline": noted("Pipeline parallelism"),
    "sharding": noted("Splitting layers"),
    "faults": noted("Checkpoints and failures"),
    "precision": noted("Precision"),
    "transformer": noted("The transformer"),
    "throughput": noted("Throughput"),
    "cost": noted("Cost"),
    "sampling": noted("Sampling"),
    "scaling": noted("Scaling laws"),
    "serving": noted("Serving"),
    "layout": noted("Layouts"),
}
LONGEST_ARGUMENT = 200  # characters of an argument


@dataclass(frozen=True, slots=True)
class FormulaEntry:
    """A formula in the list, with its mathematics."""

    name: str
    short: str
    summary: str
    equations: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class FormulaGroup:
    """The formulas of one package."""

    id: str
    title: str
    entries: tuple[FormulaEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentView:
    """One argument: its description, and what was typed."""

    name: str
    says: str
    unit: str
    choices: tuple[str, ...]
    default: str
    value: str
    needed: bool
    many: bool
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaPage:
    """One formula and its calculator; *worked* are the arguments that were arithmetic."""

    name: str
    module: str
    short: str
    gives: str
    documented: Documented
    arguments: tuple[ArgumentView, ...]
    result: str
    parts: tuple[tuple[str, str], ...]
    problem: str
    worked: tuple[tuple[str, str], ...]
    exercises: tuple[Hyperlink, ...]
    errata: tuple[Hyperlink, ...]


def formula_called(name: str) -> Formula:
    """The formula with the *name* in an address.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    try:
        return lookup(name)
    except ValueError as error:
        raise NotFoundError(localized(str(error))) from error


@cache
def formula_groups() -> tuple[FormulaGroup, ...]:
    """All formulas, package by package."""
    modules = dict.fromkeys(formula.module for formula in FORMULAS.values())
    return tuple(FormulaGroup(m, _title(m), tuple(_entries(m))) for m in modules)


def _title(module: str) -> str:
    """The title of a package of formulas; that of a course pack is its name."""
    return translate_known(_TITLES.get(module, module.replace("_", " ").capitalize()))


def _entries(module: str) -> list[FormulaEntry]:
    return [
        FormulaEntry(f.name, f.name.partition(".")[2], f.says, documented(f).equations)
        for f in FORMULAS.values()
        if f.module == module
    ]


def formula_page(course: Catalog, formula: Formula, given: Mapping[str, str]) -> FormulaPage:
    """The page of *formula*, evaluated for the arguments *given*."""
    doc = documented(formula)
    result, problem = "", ""
    worked: tuple[tuple[str, str], ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    known = {name: text for name, text in given.items() if name in formula.inputs}
    missing = formula.missing(known)
    if (known and not missing) or not formula.inputs:
        try:
            arguments, worked = _worked_out(formula, known)
            value = formula_value(formula, arguments, MOST_PARTS)
            result, parts = formula.text(value), formula.shown_parts(value)
        except ValueError as error:
            problem = localized(str(error))
    elif known:
        problem = translate("still needed: {missing}", missing=", ".join(missing))
    return FormulaPage(
        name=formula.name,
        module=_title(formula.module),
        short=formula.name.partition(".")[2],
        gives=localized(formula.gives),
        documented=doc,
        arguments=tuple(_argument(i, doc.arguments, known) for i in formula.inputs.values()),
        result=result,
        parts=parts,
        problem=problem,
        worked=worked,
        exercises=tuple(
            Hyperlink(exercise_url(e.id), e.title, foreign(e.language))
            for e in course.exercises
            if formula.name in e.dotted
        ),
        errata=tuple(
            Hyperlink(erratum_url(known.id), known.title, foreign(SOURCE))
            for known in errata()
            if any(formula.name in row.formulas for row in known.worked)
        ),
    )


def _worked_out(formula: Formula, given: Mapping[str, str]) -> tuple[dict[str, Argument], tuple[tuple[str, str], ...]]:
    """The arguments in *given*, and the values of those that are arithmetic.

    Raises:
        ValueError: the arithmetic of an argument has no value, or one of another unit.
    """
    arguments: dict[str, Argument] = {}
    worked = []
    for name, typed in given.items():
        taken = formula.inputs[name]
        try:
            arguments[name] = text = _in_english(taken, typed)
            found = read_argument(taken, text)
        except ValueError as error:
            raise ValueError(say("{name}: {problem}", name=name, problem=error)) from None
        if found is not None and taken.unit is not None:
            value = found.value
            arguments[name] = int(value) if taken.unit.whole and value == int(value) else value
            worked.append((name, show(value, taken.unit)))
    return arguments, tuple(worked)


def _in_english(taken: Input, typed: str) -> str:
    """What was *typed* for an argument, its numbers as an English page has them."""
    if taken.choices:
        return typed
    is_whole = taken.unit is not None and taken.unit.whole
    return (list_in_english if taken.many else in_english)(typed, whole=is_whole)


def _argument(taken: Input, says: Mapping[str, str], given: Mapping[str, str]) -> ArgumentView:
    return ArgumentView(
        name=taken.name,
        says=says.get(taken.name, ""),
        unit=_unit(taken),
        choices=tuple(str(choice).lower() for choice in taken.choices),
        default=shown_default(taken),
        value=given.get(taken.name, ""),
        needed=taken.required,
        many=taken.many,
        names=tuple(taken.record.known()) if taken.record else (),
    )


def _unit(taken: Input) -> str:
    """The unit shown after the field of *taken*."""
    if taken.record is not None:
        return localized(taken.record.what)
    if taken.unit is None:
        return translate("list") if taken.many else ""
    unit = taken.unit.symbol or (translate("count") if taken.unit.whole else "")
    return translate("{unit} list", unit=unit).strip() if taken.many else unit
