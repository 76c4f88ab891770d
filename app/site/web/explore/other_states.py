"""The way from one state of an explorer to others: presets, neighbors, and the state before."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.core.translation import localized, translate, translate_known
from app.course.content.glossary import mark
from app.course.explorers import Explored, Explorer, StateTable, Values, read_controls, since
from app.site.markdown import inline_html
from app.site.web.explore.state import url_state
from app.site.web.frame.renderer import Hyperlink
from app.site.web.urls import explorer_url

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


@dataclass(frozen=True, slots=True)
class PresetView:
    """A link to a state with a name; *here*: it is the one that is shown."""

    link: Hyperlink
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A table of other states, each with a link."""

    title: str
    says: Markup
    header: tuple[str, ...]
    rows: tuple[tuple[Hyperlink, tuple[str, ...]], ...]
    folded: bool


@dataclass(frozen=True, slots=True)
class StatesView:
    """Everything that leads from this state to others, and *packed*, this state as one text."""

    presets: tuple[PresetView, ...]
    tables: tuple[TableView, ...]
    packed: str


def states_view(explorer: Explorer, values: Values, shown: Explored, hidden: bool) -> StatesView:
    """What leads on from *values*; as long as the answer is *hidden*, only presets do."""
    return StatesView(
        tuple(_presets(explorer, values, hidden)),
        () if hidden else tuple(_table(explorer, values, table) for table in shown.tables),
        packed(explorer, values) if explorer.compares else "",
    )


def packed(explorer: Explorer, values: Values) -> str:
    """The state of all controls as one short text."""
    return _BETWEEN.join(url_state(explorer, values).values())


def unpack_state(explorer: Explorer, text: str) -> tuple[Values | None, str]:
    """The state that *text* holds, and a sentence that says so if it cannot be read."""
    if not explorer.compares or not text:
        return None, ""
    parts = text[: _LONGEST + 1].split(_BETWEEN)
    names = [control.name for control in explorer.controls]
    if len(text) <= _LONGEST and len(parts) == len(names):
        values, corrections = read_controls(explorer.controls, dict(zip(names, parts, strict=True)))
        if not corrections:
            return Values(values), ""
    return None, translate("The earlier state in the address cannot be read, so nothing is compared with it.")


def unbroken(text: str) -> str:
    """*text* whose numbers stay on one line with their units."""
    return _UNIT.sub("\N{NO-BREAK SPACE}", localized(text))


def fact_views(shown: Explored, before: Explored | None) -> tuple[ComparedFact, ...]:
    """The numbers of *shown*, compared with those of the state *before*."""
    return tuple(
        ComparedFact(
            translate_known(fact.label), fact.value, fact.beside, *(since(fact, before) if before else ("", ""))
        )
        for fact in shown.facts
    )


def _address(explorer: Explorer, values: Values, state: Mapping[str, str], hidden: bool) -> str:
    further = {"predict": "1"} if hidden else {}
    if explorer.compares and not hidden:
        further = {WAS: packed(explorer, values)}
    return explorer_url(explorer.name, {**url_state(explorer, values), **state, **further})


def _presets(explorer: Explorer, values: Values, hidden: bool) -> list[PresetView]:
    now, found = url_state(explorer, values), []
    for preset in explorer.presets:
        its = url_state(explorer, Values(read_controls(explorer.controls, {**now, **preset.state})[0]))
        link = Hyperlink(_address(explorer, values, preset.state, hidden), translate_known(preset.name))
        found.append(PresetView(link, its == now))
    return found


def _table(explorer: Explorer, values: Values, table: StateTable) -> TableView:
    return TableView(
        title=table.title,
        says=mark(inline_html(table.says)),
        header=table.header,
        rows=tuple(
            (Hyperlink(_address(explorer, values, row.state, hidden=False), row.name), tuple(map(unbroken, row.cells)))
            for row in table.rows
        ),
        folded=table.folded,
    )
