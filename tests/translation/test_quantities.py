"""Units that are words, labs, moves and notes in the language of a visitor."""

import asyncio
import re

import pytest

from app.core.errors import AnswerError
from app.core.expressions import read_answer
from app.core.simulators.sharding import Move, MoveKind
from app.core.translation import localize, speaking, translate, translate_known, unit_word
from app.core.units import SECOND, Unit, scale_of, show, show_in
from app.course.content.catalog import Catalog
from app.course.kinds.sharding import Sharding
from app.labs.results.analysis import shipped_runs
from app.labs.spec import known_labs
from app.site.labs.words import lab_sentences, localized_note, translate_lab


@pytest.mark.parametrize(
    ("code", "value", "unit", "told_"),
    [
        ("de", 67.7 * 86400, SECOND, "67,7 Tage"),
        ("de", 3e5 * 86400, SECOND, "300\u202f000 Tage"),
        ("de", 0.005, SECOND, "5 ms"),
        ("zh", 67.7 * 86400, SECOND, "67.7 天"),
        ("en", 67.7 * 86400, SECOND, "67.7 days"),
    ],
)
def test_a_unit_that_is_a_word_follows_the_language(code: str, value: float, unit: Unit, told_: str) -> None:
    with speaking(code):
        assert localize(show(value, unit)) == told_
        assert localize(show_in(7, scale_of("nodes"))) in ("7 Knoten", "7 个节点", "7 nodes")
        assert localize("67.7 days") == "67.7 days"  # a stranger's


def test_a_sentence_says_its_quantities_in_its_language() -> None:
    took = show(3 * 86400.0, SECOND)
    with speaking("de"):
        assert translate("Right: {value}.", value=took) == "Richtig: 3 Tage."
        assert unit_word("days") == "Tage"
        assert unit_word("ms") == "ms"
    assert translate("Right: {value}.", value=took) == "Right: 3 days."


@pytest.mark.parametrize(
    ("text", "seconds"), [("3 Tage", 259_200), ("3天", 259_200), ("1 Stunde 5 Minuten", 3900), ("2*3 Stunden", 21_600)]
)
def test_a_unit_is_read_as_it_is_shown(text: str, seconds: float) -> None:
    assert read_answer(text, scale_of("s")).value == seconds


def test_what_cannot_be_read_is_said_in_one_language(catalog: Catalog) -> None:
    with speaking("de"):
        exercise = catalog.spoken("de").exercise("hardware/days-on-a-cluster")
        answer = {"few": "soon", "many": "7 Tage", "cost": "3 %"}
        with pytest.raises(AnswerError, match="^Auf 8\u202f192 GPUs: »soon« .*12,5 Tage"):
            asyncio.run(exercise.grade(0, answer, None))  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["de", "zh"])
def test_a_lab_speaks_the_language_of_the_visitor(code: str) -> None:
    for lab in known_labs().values():
        with speaking(code):
            shown = translate_lab(lab)
        forms = [lab, lab.gpu] if lab.gpu else [lab]
        kept = {name for form in forms for one in form.measures.values() for name in one.derived}
        kept |= {form.processors_only for form in forms}
        with speaking(code):
            said = {word: translate_known(word) for word in lab_sentences(lab)}
        assert lab_sentences(shown) - kept <= set(said.values())
        assert shown.starts == lab.starts
        assert translate_lab(lab) is lab


def test_moves_are_said_in_the_language_of_the_page(catalog: Catalog) -> None:
    asked = [one for one in catalog.exercises if isinstance(one, Sharding)]
    assert len(asked) > 3
    for move in {str(move): move for one in asked for move in one.task(0).moves}.values():
        with speaking("de"):
            assert not re.search(r"\b(over|along|keep|multiply)\b", localize(str(move)))
        assert localize(str(move)) == str(move)
    assert {str(kind) for kind in MoveKind} >= {str(Move(MoveKind.MULTIPLY))}


def test_notes_on_recorded_runs_have_known_forms() -> None:
    notes = {note for report in shipped_runs() for note in report.notes}
    assert len(notes) > 5
    with speaking("zh"):
        assert [note for note in notes if localized_note(note) == note] == []
        assert localized_note("On processors, over gloo: it measures the processor itself.") == (
            "在处理器上，经 gloo：它测量的就是处理器本身。"
        )
        assert localized_note("Written by hand.") == "Written by hand."
