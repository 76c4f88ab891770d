"""A prediction comes before the answer, is asked of what is shown, and is asked once."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.course.explorers import EXPLORERS, explorer_pages
from app.course.explorers.base import Values, guess_question, predicted_figure
from app.course.explorers.controls import Slider, address_text, read_controls
from app.course.kinds.base import EmbeddedFigures
from app.site.web.explore.figures import embedded_view
from tests.each import each
from tests.explorers.test_explorers import explored

GUESSED = [explorer.name for explorer in explorer_pages() if explorer.predicts]
OTHER = {  # another state of each, in which the number is another one
    "ring": {"ranks": "5"}, "memory": {"ranks": "96"},
    "learning-rate": {"batch": "768"}, "overlap": {"layers": "17", "reduce": "7 ms"},
    "pipeline": {"stages": "7", "microbatches": "13", "schedule": "zb_h1"},
    "split": {"hidden": "2048"}, "checkpoints": {"mtbf": "31 h"}, "formats": {"weight": "0.9"},
    "machine": {"gpu": "A100 SXM 80GB"}, "hybrid-sharding": {"group": "4"}, 
    "routing": {"factor": "1.7"},
}  # fmt: skip


def text_of(page: str) -> str:
    """What is read and heard of *page*."""
    heard = re.sub(r'<[^>]*? aria-label="([^"]*)"[^>]*>', r" \1 ", page)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", heard)))


def fragment(client: TestClient, name: str, **query: str) -> str:
    answer = client.get(f"/explore/{name}", params=query, headers={"X-Fragment": "1"})
    assert answer.status_code == 200
    return answer.text


@each("name", [one.name for one in EXPLORERS.values() if one.predicts])
def test_what_is_to_be_predicted_is_shown(name: str) -> None:
    explorer, told = EXPLORERS[name], explored(name)
    fact = predicted_figure(explorer, told)
    assert fact
    assert fact.exact is not None


@pytest.mark.parametrize("name", GUESSED)
def test_the_answer_is_hidden_until_it_is_guessed_or_asked_for(client: TestClient, name: str) -> None:
    asked: set[str] = set()
    states: tuple[dict[str, str], ...] = ({}, OTHER[name])
    for state in states:
        fact = predicted_figure(EXPLORERS[name], explored(name, **state))
        assert fact
        waiting = text_of(fragment(client, name, predict="1", **state))
        assert fact.value not in waiting
        assert f"{fact.label}:" not in waiting
        assert waiting.partition("Just show me")[0].count("?") == 1
        assert "svg" in fragment(client, name, predict="1", **state)  # the picture is there
        assert "_" not in waiting.partition("Just show me")[0]
        asked.add(waiting.partition("Just show me")[0])
        for query in ({"predict": "1", "guess": fact.value}, {"show": "1"}):
            shown = fragment(client, name, **state, **query)
            assert fact.value in text_of(shown)
            assert 'name="guess"' not in shown
        unread = fragment(client, name, predict="1", guess="much", **state)
        assert "Cannot read" in unread
        assert 'name="guess"' in unread
        assert "data-hidden" in unread
    assert len(asked) == 2  # the question belongs to the state


@pytest.mark.parametrize("name", GUESSED)
def test_a_bare_address_asks_first_and_a_link_to_a_state_shows_it(client: TestClient, name: str) -> None:
    control = EXPLORERS[name].controls[0]
    start = read_controls(EXPLORERS[name].controls, {})[0][control.name]
    assert "data-hidden" in fragment(client, name)
    assert "data-hidden" not in fragment(client, name, show="1")
    state = {control.name: address_text(control, start)}
    assert "data-hidden" not in fragment(client, name, **state)
    assert "data-hidden" in fragment(client, name, predict="1", **state)
    assert client.get(f"/explore/{name}/0.csv").status_code == 200


@each("name", GUESSED)
def test_one_question_a_box_and_its_state_in_words(name: str) -> None:
    explorer = EXPLORERS[name]
    assert explorer.question.count("?") == 1
    assert explorer.question.endswith("?")
    assert explorer.asks.endswith("?")
    values, _ = read_controls(explorer.controls, OTHER[name])
    asked = guess_question(explorer, Values(values))
    assert "_" not in asked
    assert asked.startswith(explorer.asks)


@each("name", GUESSED)
def test_what_the_question_leaves_out_does_not_change_its_answer(name: str) -> None:
    start = predicted_figure(EXPLORERS[name], explored(name))
    assert start
    for control in EXPLORERS[name].controls:
        if not control.aside:
            continue
        ends = (
            [f"{end:g}" for end in (control.low, control.high)]
            if isinstance(control, Slider)
            else list(control.options)
        )
        for text in ends:
            try:
                fact = predicted_figure(EXPLORERS[name], explored(name, **{control.name: text}))
            except ValueError:
                continue  # they do not go together
            same = fact and fact.exact == start.exact
            assert fact is None or same, (control.name, text)


def test_a_state_that_does_not_exist_asks_for_the_one_that_is_shown(client: TestClient) -> None:
    page = fragment(client, "routing", experts="2", predict="1")
    assert "2 experts do not divide evenly over" in page
    assert "data-hidden" in page
    assert 'name="guess"' in page


@pytest.mark.parametrize(("gpu", "asks"), [("H100 SXM", True), ("H100 PCIe", False)])
def test_a_state_without_the_number_asks_nothing_and_hides_nothing(gpu: str, asks: bool) -> None:
    view = embedded_view(EmbeddedFigures(explorer="bandwidth", predict=True), {"gpu": gpu})
    assert bool(view.guess) == asks
    assert len(view.figures) == 2
    texts = re.findall(r"<text[^>]*>([^<]*)<", "".join(figure.svg for figure in view.figures))
    assert any("?" in text for text in texts) == asks


def test_what_is_covered_stays_covered_in_what_is_read_with_the_keys() -> None:
    view = embedded_view(EmbeddedFigures(explorer="memory", predict=True), {})
    shown = embedded_view(EmbeddedFigures(explorer="memory"), {})
    told = predicted_figure(EXPLORERS["memory"], explored("memory"))
    assert told
    assert told.value in shown.figures[0].svg
    assert told.value not in view.figures[0].svg
    assert view.figures[0].svg.count("<rect") == shown.figures[0].svg.count("<rect")
