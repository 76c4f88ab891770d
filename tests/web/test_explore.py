"""The state of an explorer in addresses, and its page as plain values."""

from typing import Any

import pytest

from app.core.charts.axes import PAPERS
from app.core.errors import NotFoundError
from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS, explorer_pages
from app.site.web.explore.prediction_check import judge_prediction
from app.site.web.explore.state import (
    control_values,
    explorer_called,
    pack_state,
    page_url,
    unbreak_numbers,
    unpack_state,
    url_state,
    waits,
)
from app.site.web.explore.view import ExplorePage, explorer_cards, explorer_page
from tests.each import each

RING = explorer_called("ring")


def page(catalog: Catalog, name: str = "ring", **query: str) -> ExplorePage:
    return explorer_page(catalog, EXPLORERS[name], query, [*PAPERS.values()][:1])


def test_an_explorer_that_there_is_not_offers_the_nearest() -> None:
    with pytest.raises(NotFoundError, match="no explorer is called 'rings'; did you mean 'ring'"):
        explorer_called("rings")


def test_a_state_that_is_written_into_an_address_is_read_from_it() -> None:
    for explorer in EXPLORERS.values():
        values, corrections = control_values(explorer, {})
        assert corrections == ()
        again, corrections = control_values(explorer, url_state(explorer, values))
        assert (url_state(explorer, again), corrections) == (url_state(explorer, values), ())


def test_the_state_before_is_one_text_of_all_controls() -> None:
    compared = next(one for one in EXPLORERS.values() if one.compares)
    values, _ = control_values(compared, {})
    packed = pack_state(compared, values)
    found, problem = unpack_state(compared, packed)
    assert found is not None
    assert (url_state(compared, found), problem) == (url_state(compared, values), "")
    assert unpack_state(compared, "") == (None, "")
    for wrong in (f"{packed}~1", packed.rpartition("~")[0], "x" * 601, "~" * 5):
        found, problem = unpack_state(compared, wrong)
        assert found is None
        assert problem.startswith("The earlier state in the address cannot be read"), wrong
    other = next((one for one in EXPLORERS.values() if not one.compares), None)
    if other:
        assert unpack_state(other, "1~2") == (None, "")


@each(
    ("query", "hidden"),
    [
        ({}, True),
        ({"other": "1"}, True),
        ({"show": "1"}, False),
        ({"ranks": "8"}, False),
        ({"ranks": "8", "predict": ""}, True),
        ({"show": "1", "guess": "7"}, True),
        ({"show": "1", "guess": " "}, False),
        ({"was": "1~2"}, True),
    ],
)
def test_a_prediction_comes_first_unless_the_address_has_a_state(query: dict[str, str], hidden: bool) -> None:
    assert "ranks" in [control.name for control in RING.controls]
    assert waits(RING, query) is hidden


def test_a_page_hides_its_number_until_it_was_predicted(catalog: Catalog) -> None:
    hidden, shown = page(catalog), page(catalog, show="1")
    assert (hidden.hidden, shown.hidden) == (True, False)
    assert hidden.asks
    value = judged(catalog)
    assert value not in "".join(fact.value for fact in hidden.facts)
    assert value in "".join(fact.value for fact in shown.facts)
    right = page(catalog, predict="", guess=value)
    assert (right.hidden, right.guessed and right.guessed.near) == (False, True)
    unread = page(catalog, predict="", guess="much")
    assert (unread.hidden, unread.guessed and unread.guessed.near, unread.typed) == (True, None, "much")
    wrong = page(catalog, predict="", guess=f" 3{value} ")
    assert (wrong.hidden, wrong.guessed and wrong.guessed.near, wrong.typed) == (False, False, f"3{value}")
    assert page(catalog, show="1").guessed is None


def judged(catalog: Catalog) -> str:
    """The number that is asked for, as it is shown."""
    from app.course.explorers.base import predicted_figure
    from app.site.web.explore.state import explore_values

    values, _ = control_values(RING, {})
    fact = predicted_figure(RING, explore_values(RING, values)[0])
    assert fact
    verdict = judge_prediction(catalog, RING, values, fact, fact.value)
    assert verdict.near
    return fact.value


def test_a_page_says_where_it_belongs_and_what_was_changed(catalog: Catalog) -> None:
    found = page(catalog, ranks="16")
    topic = catalog.topic(RING.chapter)
    assert (found.chapter.href, found.chapter.text) == (f"/chapters/{topic.id}", topic.title)
    assert [link.href for link in found.formulas] == [f"/formulas/{name}" for name in RING.formulas]
    assert "16" in found.full_title
    assert found.title == page(catalog).full_title
    assert "ranks=16" in found.address
    assert found.corrections == ()
    assert page(catalog, ranks="much").corrections


def test_a_slider_has_its_place_and_its_unit(catalog: Catalog) -> None:
    controls = {control.name: control for _, group in page(catalog, show="1").groups for control in group}
    assert set(controls) == {control.name for control in RING.controls}
    ranks = controls["ranks"]
    assert ranks.place
    assert ranks.low <= float(ranks.value) * ranks.factor <= ranks.high
    scalings = {
        control.scaling
        for one in explorer_pages()
        for _, group in page(catalog, one.name, show="1").groups
        for control in group
    }
    assert {"", "log", "doubles"} <= scalings


def test_every_explorer_is_a_card_in_the_order_of_the_chapters(catalog: Catalog) -> None:
    chapters = tuple(topic.id for topic in catalog.topics)
    cards = explorer_cards("en", chapters)
    places = [chapters.index(EXPLORERS[card.name].chapter) for card in cards]
    assert places == sorted(places)
    assert {card.name for card in cards} == {one.name for one in explorer_pages()}
    assert all("<svg" in card.thumbnail for card in cards)


def test_the_page_of_a_part_is_that_of_the_whole_with_what_it_knows() -> None:
    assert page_url(RING, {"ranks": "8"}) == "/explore/ring?ranks=8"
    parts = [one for one in EXPLORERS.values() if one.part_of]
    assert parts
    for part in parts:
        whole = EXPLORERS[part.part_of]
        assert page_url(part, {"unheard": "1"}) == f"/explore/{whole.name}?show=1"
        assert page_url(part, {"show": "1", "unheard": "1"}) == f"/explore/{whole.name}?show=1"
        model = page_url(part, {"parameters": "8 x", "show": "1"})
        assert "8B" in model
        assert "parameters=" not in model or "parameters" in {control.name for control in whole.controls}
        assert page_url(part, {"parameters": "x"}) == f"/explore/{whole.name}?show=1"


@each(
    ("text", "shown"),
    [
        ("8 GB", "8\u00a0GB"),
        ("8 GB more", "8\u00a0GB more"),
        ("a 8", "a 8"),
        ("8 (all)", "8 (all)"),
        ("2 of 3 s", "2\u00a0of 3\u00a0s"),
    ],
)
def test_a_number_stays_on_the_line_of_its_unit(text: str, shown: str) -> None:
    assert unbreak_numbers(text) == shown


def test_tables_come_only_once_nothing_is_hidden(catalog: Catalog) -> None:
    with_tables: list[Any] = [one for one in explorer_pages() if page(catalog, one.name, show="1").tables]
    assert with_tables
    for one in with_tables:
        if page(catalog, one.name).hidden:
            assert page(catalog, one.name).tables == ()
