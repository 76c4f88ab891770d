"""The state of an explorer: read from an address, written into one, and the way to others."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.core.errors import NotFoundError, nearest
from app.core.formulas.presets import ModelShape
from app.core.formulas.transformer import model_parameters
from app.core.translation import localize, translate, translate_known
from app.course.content.errata import mark
from app.course.explorers import EXPLORERS, base, controls
from app.course.explorers.controls import Control
from app.course.explorers.placements import MODELS
from app.site.markdown import inline_html
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import explorer_url

LONGEST = 400  # characters of a value in a URL
_BESIDE = ("show", "predict", "was")  # what an address has beside the controls
_BILLION = 1e9


def explorer_called(name: str) -> base.Explorer:
    """The explorer with the *name* in an address.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    if name not in EXPLORERS:
        near = nearest(name[:80], EXPLORERS)
        raise NotFoundError(translate("no explorer is called {name!r}{near}", name=name[:80], near=near))
    return EXPLORERS[name]


def control_values(explorer: base.Explorer, query: Mapping[str, str]) -> tuple[base.Values, tuple[str, ...]]:
    """The values of the controls in an address, and a sentence for each that was corrected."""
    given = {name: text[:LONGEST] for name, text in query.items()}
    values, corrections = controls.read_controls(explorer.controls, given)
    return base.Values(values), corrections


def url_state(explorer: base.Explorer, values: base.Values) -> dict[str, str]:
    """The values of the controls as written in a URL."""
    return {c.name: controls.address_text(c, values[c.name]) for c in explorer.controls}


def explore_values(explorer: base.Explorer, values: base.Values) -> tuple[base.ExplorerOutput, str]:
    """The output of *explorer*, and why there is none if the values are not compatible."""
    try:
        return base.translate_explored(explorer.explore(values)), ""
    except ValueError as error:
        return base.ExplorerOutput("", (), ()), localize(str(error))


def waits(explorer: base.Explorer, query: Mapping[str, str]) -> bool:
    """Whether a prediction comes first: on a URL without a state, or if the URL asks for it.

    A URL with a state is a shared link, which shows its result.
    """
    if "predict" in query or query.get("guess", "").strip():
        return True
    named = {"show", *(control.name for control in explorer.controls)}
    return not any(name in query for name in named)


def page_url(explorer: base.Explorer, query: Mapping[str, str]) -> str:
    """The page that shows *explorer* in the state of *query*."""
    if not explorer.part_of:
        return explorer_url(explorer.name, query)
    page = EXPLORERS[explorer.part_of]
    known = _same_model(page.controls[0], query) | dict(query)
    names = {control.name for control in page.controls} | set(_BESIDE)
    state = {name: text for name, text in known.items() if name in names}
    return explorer_url(page.name, state or {"show": "1"})


def _same_model(control: Control, query: Mapping[str, str]) -> dict[str, str]:
    """The model with about as many parameters as *query* says, in billions."""
    try:
        wanted = float(query["parameters"].partition(" ")[0]) * _BILLION
    except (KeyError, ValueError):
        return {}
    shapes = {name: ModelShape.named(name) for name in MODELS}
    near = min(shapes, key=lambda name: abs(model_parameters(shapes[name]) - wanted))
    return {control.name: near}


WAS = "was"  # the parameter of the address that holds the state before
_BETWEEN = "~"
_UNIT = re.compile(r"(?<=\d) (?=[^\s(]+(?: |$))")  # a space before a unit, where no line ends
_LONGEST = 600  # characters of it


@dataclass(frozen=True, slots=True)
class ComparedFact:
    """A number; *beside* it another one to compare with, what it was *before*, and the change."""

    label: str
    value: str
    beside: str
    before: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A table of other states, each with a link."""

    title: str
    says: Markup
    header: tuple[str, ...]
    rows: tuple[tuple[Hyperlink, tuple[str, ...]], ...]
    folded: bool


def pack_state(explorer: base.Explorer, values: base.Values) -> str:
    """The state of all controls as one short text."""
    return _BETWEEN.join(url_state(explorer, values).values())


def unpack_state(explorer: base.Explorer, text: str) -> tuple[base.Values | None, str]:
    """The state that *text* holds, and a sentence that says so if it cannot be read."""
    if not explorer.compares or not text:
        return None, ""
    parts = text[: _LONGEST + 1].split(_BETWEEN)
    names = [control.name for control in explorer.controls]
    if len(text) <= _LONGEST and len(parts) == len(names):
        values, corrections = controls.read_controls(explorer.controls, dict(zip(names, parts, strict=True)))
        if not corrections:
            return base.Values(values), ""
    return None, translate("The earlier state in the address cannot be read, so nothing is compared with it.")


def unbreak_numbers(text: str) -> str:
    """*text* whose numbers stay on one line with their units."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", localize(text))


def fact_views(shown: base.ExplorerOutput, before: base.ExplorerOutput | None) -> tuple[ComparedFact, ...]:
    """The numbers of *shown*, compared with those of the state *before*."""
    return tuple(
        ComparedFact(
            translate_known(fact.label),
            fact.value,
            fact.beside,
            *(base.describe_change(fact, before) if before else ("", "")),
        )
        for fact in shown.facts
    )


def table_view(explorer: base.Explorer, values: base.Values, table: base.StateTable) -> TableView:
    """*table*, with a link to each of its states that says what it was before."""
    now, was = url_state(explorer, values), {WAS: pack_state(explorer, values)} if explorer.compares else {}
    return TableView(
        title=table.title,
        says=mark(inline_html(table.says)),
        header=table.header,
        rows=tuple(
            (
                Hyperlink(explorer_url(explorer.name, {**now, **row.state, **was}), row.name),
                tuple(map(unbreak_numbers, row.cells)),
            )
            for row in table.rows
        ),
        folded=table.folded,
    )
