"""The pages of formulas as plain values."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from markupsafe import Markup, escape

from app.core.errors import NotFoundError
from app.core.expressions import ExpressionError, latex, parse_expression, read_argument
from app.core.expressions.template import symbol
from app.core.formulas import FORMULAS, MOST_PARTS, Argument, Formula, Input, formula_value, lookup, shown_default
from app.core.translation import SOURCE, foreign, localized, noted, say, translate, translate_known
from app.core.units import in_english, list_in_english, show
from app.course.content.catalog import Catalog
from app.course.content.errata import errata
from app.site.markdown import MathematicsError, mathml
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import erratum_url, exercise_url

_HEADING = re.compile(r"^(Args|Raises|Source|Convention|Returns|Example):$")
_ARGUMENT = re.compile(r"^(\w+): (.*)$")
_INDENTED = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """The parts of a docstring."""

    summary: str
    body: tuple[Markup, ...]
    equations: tuple[Markup, ...]
    arguments: Mapping[str, str]
    convention: str
    raises: str
    source: str


@dataclass(slots=True)
class _DocstringParts:
    body: list[list[str]] = field(default_factory=list)
    sections: dict[str, list[str]] = field(default_factory=dict)


def documented(formula: Formula) -> Documented:
    """The docstring of *formula*, with its mathematics as MathML."""
    parts = _split(formula.doc)
    blocks = [(_block(block, formula), _is_mathematics(block)) for block in parts.body[1:]]
    return Documented(
        summary=" ".join(parts.body[0]),
        body=tuple(block for block, _ in blocks),
        equations=tuple(block for block, is_mathematics in blocks if is_mathematics),
        arguments=_arguments(parts.sections.get("Args", [])),
        convention=" ".join(parts.sections.get("Convention", [])),
        raises=" ".join(parts.sections.get("Raises", [])).removeprefix("ValueError: ").capitalize(),
        source=" ".join(parts.sections.get("Source", [])),
    )


def equation_lines(formula: Formula) -> tuple[str, ...]:
    """The equations in the docstring of *formula*, as they are written there."""
    blocks = filter(_is_mathematics, _split(formula.doc).body[1:])
    return tuple(line.strip() for block in blocks for line in block)


def _split(doc: str) -> _DocstringParts:
    parts = _DocstringParts(body=[[]])
    section: list[str] | None = None
    for line in doc.splitlines():
        if heading := _HEADING.match(line):
            section = parts.sections.setdefault(heading[1], [])
        elif not line.strip():
            if section is None and parts.body[-1]:
                parts.body.append([])
        elif section is not None and line.startswith(_INDENTED):
            section.append(line.strip())
        else:
            section = None
            parts.body[-1].append(line)
    parts.body = [block for block in parts.body if block]
    return parts


def _is_mathematics(lines: list[str]) -> bool:
    return all(line.startswith(_INDENTED) for line in lines)


def _block(lines: list[str], formula: Formula) -> Markup:
    if not _is_mathematics(lines):
        return Markup("<p>{}</p>").format(" ".join(line.strip() for line in lines))
    return Markup("").join(_equation(line.strip(), formula) for line in lines)


def _equation(line: str, formula: Formula) -> Markup:
    """One line of mathematics as MathML, or as plain text if it cannot be parsed."""
    left, equals, right = line.partition(" = ")
    try:
        written = latex(parse_expression(right, list(formula.inputs)))
        if not equals:
            return _plain(line)
        shown = mathml(f"{symbol(left)} = {written}", display=True)
        return Markup('<div class="math block">{}</div>').format(shown)
    except (ExpressionError, MathematicsError):
        return _plain(line)


def _plain(line: str) -> Markup:
    return Markup("<pre>{}</pre>").format(escape(line))


def _arguments(lines: list[str]) -> Mapping[str, str]:
    described: dict[str, str] = {}
    name = ""
    for line in lines:
        if match := _ARGUMENT.match(line):
            name = match[1]
            described[name] = match[2]
        elif name:
            described[name] += f" {line}"
    return described


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
