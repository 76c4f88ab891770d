"""Pages that are read: the documentation, the API, formats, units, and everything beside the course."""

import inspect
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from markupsafe import Markup
from pydantic.fields import FieldInfo

import app
from app.core.errors import NotFoundError, nearest
from app.core.folders import ROOT
from app.core.translation import SOURCE, Numeral, noted, speaking, translate
from app.core.units import Unit, figures, spelling
from app.core.units.scales import PHYSICAL_SCALES, SCALES, Scale
from app.course.illustrations import ILLUSTRATIONS, listed_inputs
from app.course.kinds import KINDS, Base
from app.server.network.routes import Router
from app.site.markdown import MarkdownDocument, document, inline_html
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.reference import trust_view as trust

router = Router()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the API."""

    method: str
    path: str
    summary: str
    description: str
    example: str
    token: bool
    answers: tuple[tuple[str, str], ...]  # statuses, and when they come


@router.get("/api/docs")
def api_docs(request: Request) -> Response:
    """Every operation, from the OpenAPI document."""
    described = request.app.openapi()
    operations = tuple(
        _operation(path, method, operation, described)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    )
    says = translate("Check answers from a program: one at a time or in a stream.")
    return render("reference/api.html", frame(request, translate("JSON interface"), says), operations)


def _operation(path: str, method: str, operation: Mapping[str, Any], described: Mapping[str, Any]) -> Operation:
    answers = operation.get("responses", {}).items()
    return Operation(
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        description=operation.get("description", ""),
        example=_example(operation, described),
        token=bool(operation.get("security")),
        answers=tuple((status, answer["description"]) for status, answer in answers),
    )


def _example(operation: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        if reference := schema.get("$ref"):
            schema = described["components"]["schemas"][reference.rpartition("/")[2]]
        example = content.get("example") or next(iter(schema.get("examples", [])), None)
        if isinstance(example, str):
            return example.strip()
        if example:
            return json.dumps(example)
    return ""


SITE_PAGES = (
    (
        noted("Exercises"),
        "/",
        noted("Every chapter in its order, and routes for those who train, serve, or run the cluster."),
    ),
    (
        noted("Explore"),
        "/explore",
        noted("Sliders and figures: all-reduce, pipelines, memory, rooflines, checkpoints."),
    ),
    (noted("Placement"), "/placement", noted("Six questions at most that say which chapters you can skip.")),
    (noted("Final"), "/final", noted("Twenty drawn questions from the whole course, and what to repeat.")),
    (noted("Labs"), "/labs", noted("Predict a number of distributed training, then measure it with PyTorch.")),
    (
        noted("Your own measurements"),
        "/measured",
        noted("Read nccl-tests, a log, a trace or an out-of-memory error of yours beside the formulas."),
    ),
    (noted("Progress"), "/progress", noted("What you have done: export, import and delete it.")),
    (
        noted("Classes"),
        "/classes",
        noted(
            "Run a course on Wallclock: students join by a link, you choose exercises and "
            "dates, and the points are counted for you."
        ),
    ),
    (noted("Sign in"), "/sign-in", noted("With a code of your instructor, or an account of your organization.")),
    (
        noted("Formulas"),
        "/formulas",
        noted("Every formula of the course, with its derivation, its source and a calculator."),
    ),
    (
        noted("Errata"),
        "/errata",
        noted("Where well-known teaching material is wrong, and what is right, computed on this site."),
    ),
    (noted("Glossary"), "/glossary", noted("The terms of distributed training, each in a sentence or two.")),
    (noted("Hardware and models"), "/hardware", noted("The values that formulas and exercises start from.")),
    (noted("Search"), "/search", noted("A search over the whole site.")),
    (
        noted("Reference"),
        "/reference",
        noted("Everything beside the course: to look up, to find your way, to teach with."),
    ),
    (noted("Documentation"), "/docs", noted("How to solve, teach, write exercises, and run a server.")),
    (noted("Write exercises"), "/authoring", noted("The format of exercise files, and a sample of each kind.")),
    (noted("JSON interface"), "/api/docs", noted("Check answers from a program.")),
    (trust.TITLE, "/trust", trust.SAYS),
)


ADDRESS = "/reference"
_GROUPS: Sequence[tuple[str, tuple[str, ...]]] = (
    (noted("Look up"), ("/formulas", "/glossary", "/hardware", "/errata", "/trust", "/search")),
    (noted("Find your way"), ("/placement", "/final")),
    (noted("Your own files"), ("/measured",)),
    (noted("Teach and extend"), ("/classes", "/authoring", "/docs", "/api/docs")),
)


@router.get(ADDRESS)
def show_reference(request: Request) -> Response:
    """Every page beside the course."""
    says = translate("Everything beside the course: to look up, to find your way, to teach with.")
    around = frame(request, translate("Reference"), says, "reference")
    known = {href: Hyperlink(href, translate(title)) for title, href, _ in SITE_PAGES}
    sentences = {href: translate(says) for _, href, says in SITE_PAGES}
    groups = tuple(
        (translate(title), tuple((known[href], sentences[href]) for href in addresses)) for title, addresses in _GROUPS
    )
    return render("reference/overview.html", around, groups)


_DIGITS = 12
UnitRow = tuple[tuple[str, ...], str]  # the symbols of one size, and how much of the base unit it is
_SCALES, _PHYSICAL = tuple(SCALES.values()), tuple(PHYSICAL_SCALES.values())


@router.get("/authoring/units")
def authoring_units(request: Request) -> Response:
    """The units of exercise files, answers and formulas."""
    says = translate("Every unit that can be written in exercises, answers and the calculator.")
    around = frame(request, translate("Units"), says)
    return render("reference/units.html", around, _unit_tables(_SCALES), physics=_unit_tables(_PHYSICAL))


@cache
def _unit_tables(scales: Collection[Scale]) -> tuple[tuple[str, tuple[UnitRow, ...]], ...]:
    """Units of one kind, by their base unit: each can be compared with and added to the others."""
    by_unit: dict[Unit, list[Scale]] = {}
    for scale in scales:
        by_unit.setdefault(scale.unit, []).append(scale)
    with speaking(SOURCE):  # it is made once, for every language
        return tuple((unit.symbol, tuple(_unit_rows(those))) for unit, those in by_unit.items())


def _unit_rows(scales: list[Scale]) -> Iterator[UnitRow]:
    ordered = sorted(scales, key=lambda scale: scale.factor)
    for factor, those in groupby(ordered, key=lambda scale: scale.factor):
        symbols = dict.fromkeys(spelling(scale.symbol) for scale in those)
        unit = ordered[0].unit.symbol
        value = Numeral(f"{figures(factor, _DIGITS)} {unit}".strip())
        yield tuple(symbols), value


_NOT_WRITTEN = ("id", "digest", "chapter_parameters", "kind")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind, with its own keys and a complete sample file."""

    name: str
    title: str
    says: str
    keys: tuple[tuple[str, Markup, bool], ...]  # names, what they say, and whether they are needed
    sample: str
    sample_name: str


@router.get("/authoring")
def show_authoring(request: Request) -> Response:
    """How to write an exercise."""
    says = translate("One YAML file is one exercise: its keys, its kinds and a sample of each.")
    around = frame(request, translate("Write exercises"), says)
    figures = [(name, one.says, listed_inputs(one)) for name, one in sorted(ILLUSTRATIONS.items())]
    common = tuple(_keys(Base.model_fields))  # of all kinds
    return render("reference/authoring.html", around, _documented_kinds(), common=common, figures=figures)


@cache
def _documented_kinds() -> tuple[Kind, ...]:
    kinds = []
    for name, kind in KINDS.items():
        own = {n: f for n, f in kind.model_fields.items() if n not in Base.model_fields}
        text = (ROOT / "exercises" / f"{kind.sample}.yaml").read_text(encoding="utf-8")
        says = inspect.getdoc(kind) or ""
        kinds.append(Kind(name, translate(kind.kind_title), says, tuple(_keys(own)), text, kind.sample))
    return tuple(kinds)


def _keys(fields: dict[str, FieldInfo]) -> Iterator[tuple[str, Markup, bool]]:
    for name, field in fields.items():
        if name not in _NOT_WRITTEN:
            says = (field.description or "").replace("{", "`{").replace("}", "}`")
            yield field.alias or name, inline_html(says), field.is_required()


_FOLDER = Path(app.__file__).parent / "docs"
_SUFFIX, _INDEX = ".md", "README"
# Names of pages of the site, which the files cannot link: they are also read in the repository.
_PAGE = re.compile(r"<code>(/(?:api/docs|api/v1/openapi\.json|[a-z]+))</code>")


@cache
def documentation() -> dict[str, MarkdownDocument]:
    """Every page of the documentation, by its name."""
    files = sorted(_FOLDER.glob(f"*{_SUFFIX}"))
    return {file.stem: _read_docs(file) for file in files if file.stem != _INDEX}


@router.get("/docs")
def docs_index(request: Request) -> Response:
    """The index of the documentation."""
    return _shown_docs(request, _read_docs(_FOLDER / f"{_INDEX}{_SUFFIX}"))


@router.get("/docs/{name}")
def docs_page(request: Request, name: str) -> Response:
    """One page of the documentation."""
    known = documentation()
    if name not in known:
        raise NotFoundError(
            translate(
                "no page of the documentation is called {name!r}{near}", name=name[:80], near=nearest(name[:80], known)
            )
        )
    return _shown_docs(request, known[name])


def _shown_docs(request: Request, page: MarkdownDocument) -> Response:
    around = frame(request, page.title, page.summary.striptags(), "docs")
    return render("reference/doc.html", around, page)


@cache
def _read_docs(file: Path) -> MarkdownDocument:
    read = document(file.read_text(encoding="utf-8"), _linked)
    body = _PAGE.sub(r'<a href="\1"><code>\1</code></a>', str(read.body))
    return replace(read, body=Markup(body))  # our own files only


def _linked(address: str) -> str:
    """The address on the site of a link: that of a file in this folder is its page."""
    parts = urlsplit(address)
    if parts.scheme or not parts.path.endswith(_SUFFIX):
        return address
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"/docs/{Path(parts.path).stem}{fragment}"
