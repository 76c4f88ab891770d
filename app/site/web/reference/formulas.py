"""/hardware and /formulas: what the formulas know by name, and a calculator for each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from markupsafe import Markup, escape

from app.core.errors import NotFoundError
from app.core.expressions import ExpressionError, latex, parse_expression, read_argument
from app.core.expressions.template import symbol
from app.core.formulas import FORMULAS, MOST_PARTS, Argument, Formula, Input, formula_value, lookup, shown_default
from app.core.formulas.presets import CLUSTERS, GPUS, LAWS, LAYOUTS, LINKS, MODELS, RECIPES
from app.core.formulas.records import Record, hints_of
from app.core.translation import SOURCE, foreign, language, localize, noted, say, translate, translate_known
from app.core.units import COUNT, Unit, in_english, list_in_english, show
from app.course.content.catalog import Catalog
from app.course.content.errata import errata
from app.server.network.routes import Router
from app.site import Here
from app.site.markdown import MathematicsError, mathml
from app.site.web.frame.renderer import Hyperlink, frame, markup, render, wants_fragment
from app.site.web.urls import erratum_url, exercise_url, formula_url

_HEADING = re.compile(r"^(Args|Raises|Source|Convention|Returns|Example):$")
_ARGUMENT = re.compile(r"^(\w+): (.*)$")
_INDENTED = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaDocumentation:
    """The parts of a docstring."""

    summary: str
    body: tuple[Markup, ...]
    equations: tuple[Markup, ...]
    arguments: Mapping[str, str]
    convention: str
    raises: str
    source: str


def document_formula(formula: Formula) -> FormulaDocumentation:
    """The docstring of *formula*, with its mathematics as MathML."""
    body, sections = _split(formula.doc)
    blocks = []
    for lines in body[1:]:
        if is_mathematics := _is_mathematics(lines):
            block = Markup("").join(_equation(line.strip(), formula) for line in lines)
        else:
            block = Markup("<p>{}</p>").format(" ".join(line.strip() for line in lines))
        blocks.append((block, is_mathematics))
    return FormulaDocumentation(
        summary=" ".join(body[0]),
        body=tuple(block for block, _ in blocks),
        equations=tuple(block for block, is_mathematics in blocks if is_mathematics),
        arguments=_arguments(sections.get("Args", [])),
        convention=" ".join(sections.get("Convention", [])),
        raises=" ".join(sections.get("Raises", [])).removeprefix("ValueError: ").capitalize(),
        source=" ".join(sections.get("Source", [])),
    )


def equation_lines(formula: Formula) -> tuple[str, ...]:
    """The equations in the docstring of *formula*, as they are written there."""
    body, _ = _split(formula.doc)
    return tuple(line.strip() for block in filter(_is_mathematics, body[1:]) for line in block)


def _split(doc: str) -> tuple[list[list[str]], dict[str, list[str]]]:
    """The blocks of lines of a docstring, and the lines of its sections by their headings."""
    body: list[list[str]] = [[]]
    sections: dict[str, list[str]] = {}
    section: list[str] | None = None
    for line in doc.splitlines():
        if heading := _HEADING.match(line):
            section = sections.setdefault(heading[1], [])
        elif not line.strip():
            if section is None and body[-1]:
                body.append([])
        elif section is not None and line.startswith(_INDENTED):
            section.append(line.strip())
        else:
            section = None
            body[-1].append(line)
    return [block for block in body if block], sections


def _is_mathematics(lines: list[str]) -> bool:
    return all(line.startswith(_INDENTED) for line in lines)


def _equation(line: str, formula: Formula) -> Markup:
    """One line of mathematics as MathML, or as plain text if it cannot be parsed."""
    left, equals, right = line.partition(" = ")
    try:
        written = latex(parse_expression(right, list(formula.inputs)))
        if equals:
            shown = mathml(f"{symbol(left)} = {written}", display=True)
            return Markup('<div class="math block">{}</div>').format(shown)
    except (ExpressionError, MathematicsError):
        pass
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
    title: str
    equations: tuple[Markup, ...]


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
    title: str
    documented: FormulaDocumentation
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
        raise NotFoundError(localize(str(error))) from error


def formula_groups() -> tuple[tuple[str, str, tuple[FormulaEntry, ...]], ...]:
    """All formulas, package by package: the name of each, its title, and its formulas."""
    entries: dict[str, list[FormulaEntry]] = {}
    for one in FORMULAS.values():
        short, equations = one.name.partition(".")[2], document_formula(one).equations
        entries.setdefault(one.module, []).append(FormulaEntry(one.name, short, formula_title(one), equations))
    return tuple((module, _title(module), tuple(those)) for module, those in entries.items())


def _title(module: str) -> str:
    """The title of a package of formulas; that of a course pack is its name."""
    return translate_known(_TITLES.get(module, module.replace("_", " ").capitalize()))


def formula_title(formula: Formula) -> str:
    """The name of *formula* in words."""
    return formula.name.partition(".")[2].replace("_", " ").capitalize()


def formula_page(course: Catalog, formula: Formula, given: Mapping[str, str]) -> FormulaPage:
    """The page of *formula*, evaluated for the arguments *given*."""
    doc = document_formula(formula)
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
            problem = localize(str(error))
    elif known:
        problem = translate("still needed: {missing}", missing=", ".join(missing))
    return FormulaPage(
        name=formula.name,
        module=_title(formula.module),
        title=formula_title(formula),
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
            is_whole = taken.unit is not None and taken.unit.whole
            in_words = list_in_english if taken.many else in_english
            # Its numbers as an English page has them.
            arguments[name] = text = typed if taken.choices else in_words(typed, whole=is_whole)
            found = read_argument(taken, text)
        except ValueError as error:
            raise ValueError(say("{name}: {problem}", name=name, problem=error)) from None
        if found is not None and taken.unit is not None:
            value = found.value
            arguments[name] = int(value) if taken.unit.whole and value == int(value) else value
            worked.append((name, show(value, taken.unit)))
    return arguments, tuple(worked)


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
        return localize(taken.record.what)
    if taken.unit is None:
        return translate("list") if taken.many else ""
    unit = taken.unit.symbol or (translate("count") if taken.unit.whole else "")
    return translate("{unit} list", unit=unit).strip() if taken.many else unit


_NAMES = {"nvlink": "NVLink", "sms": "SMs"}
_MEANT = {"hidden": noted("hidden size"), "sequence": noted("sequence length")}


def field_words(field: str) -> str:
    """The words of *field* of a record, which the catalogs translate; one that they lack stays English."""
    return field.replace("gpu", "GPU").replace("_8bit", ", 8 bits").replace("_4bit", ", 4 bits").replace("_", " ")


def field_name(field: str) -> str:
    """What a column of the values of *field* is called."""
    name = field_words(field)
    if language() != SOURCE:  # where one word of English has two meanings
        name = _MEANT.get(name, name)
    return _NAMES.get(field) or translate_known(name)


router = Router()
_NEWEST_FIRST = dict(sorted(GPUS.items(), key=lambda known: -known[1].year))
TABLES: tuple[tuple[str, str, Mapping[str, Record]], ...] = (
    ("GPUs", noted("Peaks are dense; NVLink is one direction to all peers together."), _NEWEST_FIRST),
    (
        noted("Links"),
        noted("One direction of one GPU; effective is the bandwidth that NCCL was observed to reach."),
        LINKS,
    ),
    (noted("Clusters"), noted("Bandwidths are one direction of one GPU."), CLUSTERS),
    (noted("Model shapes"), noted("Widths and counts as released."), MODELS),
    (noted("Layouts"), noted("Degrees of parallelism, and the batch of one step."), LAYOUTS),
    (
        noted("Recipes"),
        noted(
            "Bytes of a weight, its gradient and its optimizer state, of an element of an "
            "activation, of a gradient while it is reduced, and of a logit with its gradient."
        ),
        RECIPES,
    ),
    (
        noted("Scaling laws"),
        noted(
            "The loss is the floor, plus a scale over the parameters to an exponent, plus the "
            "same of the training tokens."
        ),
        LAWS,
    ),
)


@router.get("/hardware")
def page(request: Request) -> Response:
    """All tables."""
    tables = [(translate(title), translate(says), *_columns_and_lines(known)) for title, says, known in TABLES]
    says = translate("The values that formulas and exercises start from, each with its source.")
    return render("reference/hardware.html", frame(request, translate("Hardware and models"), says, "formulas"), tables)


def anchor_of(record: Record) -> str:
    """The place of *record* on the page, such as gpu-h100-sxm."""
    name = f"{type(record).__name__} {getattr(record, 'name', '')}"
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _columns_and_lines(known: Mapping[str, Record]) -> tuple[list[str], list[tuple[str, str, tuple[str, ...], str]]]:
    """The columns that are not empty in every record; of each record, its id, name, values in them, and source."""
    records = {id(record): record for record in known.values()}.values()
    hints = hints_of(type(next(iter(records))))
    fields = [name for name in hints if name not in ("name", "source")]
    filled = [f for f in fields if any(_cell(r, f, hints[f]) for r in records)]
    lines = [
        (
            anchor_of(record),
            getattr(record, "name", ""),
            tuple(_cell(record, field, hints[field]) for field in filled),
            getattr(record, "source", ""),
        )
        for record in records
    ]
    return [field_name(field) for field in filled], lines


def _cell(record: Record, field: str, hint: Any) -> str:
    value = getattr(record, field)
    if isinstance(value, bool):
        return translate("yes") if value else ""
    if isinstance(value, Record):
        return value.text
    unit = next((n for n in getattr(hint, "__metadata__", ()) if isinstance(n, Unit)), None)
    if unit is None:
        return str(value)
    if not value:
        return translate("unknown") if field in record.unpublished else ""
    return str(value) if unit is COUNT and field == "year" else show(value, unit)


@router.get("/formulas")
def show_formulas(request: Request) -> Response:
    """All formulas."""
    says = translate("Every formula of the course, with its derivation, its source and a calculator.")
    around = frame(request, translate("Formulas"), says, "formulas")
    return render("reference/formulas.html", around, _list_content(language()))


@cache
def _list_content(_code: str) -> Markup:
    """What the page shows in a language: it changes with the version alone."""
    return markup("reference/formulas_content.html", formula_groups())


@router.get("/formulas/{name}")
def show_formula(request: Request, site: Here, name: str) -> Response:
    """One formula, evaluated for the arguments in the address."""
    formula = formula_called(name)
    given = {k: v[:LONGEST_ARGUMENT] for k, v in request.query_params.items() if v.strip()}
    page = formula_page(site.catalog, formula, given)
    calculated = {} if page.problem else {name: text for name, text in given.items() if name in formula.inputs}
    path = f"{formula_url(formula.name)}?{urlencode(calculated)}".rstrip("?")
    around = frame(request, page.title, page.documented.summary, "formulas", path)
    fragment = wants_fragment(request)
    return render("reference/calculation.html" if fragment else "reference/formula.html", around, page)
