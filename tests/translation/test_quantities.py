"""Units that are words, labs, moves and notes in the language of a visitor."""

import re

import pytest

from app.content.catalog import Catalog
from app.expressions import read_answer
from app.kinds.sharding import Sharding
from app.labs.results.archive import recorded
from app.labs.spec import known_labs
from app.labs.telling import told, words_of
from app.simulators.sharding import MoveKind
from app.translation import quantity, speaking, translate, translate_known, unit_word
from app.translation.reports import MOVES, NOTES, retold_limit, retold_move, retold_note
from app.units import SECOND, scale_of, show


@pytest.mark.parametrize(
    ("code", "said", "told_"),
    [
        ("de", "67.7 days", "67.7 Tage"),
        ("de", "1,024 nodes", "1,024 Knoten"),
        ("de", "3e5 days", "3e5 Tage"),
        ("de", "days", "days"),
        ("de", "7 nodes of 8 GPUs", "7 nodes of 8 GPUs"),
        ("de", "5 ms", "5 ms"),
        ("zh", "67.7 days", "67.7 天"),
        ("en", "67.7 days", "67.7 days"),
    ],
)
def test_a_unit_that_is_a_word_follows_the_language(code: str, said: str, told_: str) -> None:
    with speaking(code):
        assert quantity(said) == told_


def test_a_sentence_says_its_quantities_in_its_language() -> None:
    took = show(3 * 86400.0, SECOND)
    with speaking("de"):
        assert translate("Right: {value}.", value=took) == "Richtig: 3 Tage."
        assert unit_word("days") == "Tage"
        assert unit_word("ms") == "ms"
    assert translate("Right: {value}.", value=took) == "Right: 3 days."


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3 Tage", 259_200), ("3天", 259_200), ("1 Stunde 5 Minuten", 3900), ("2*3 Stunden", 21_600)],
)
def test_a_unit_is_read_as_it_is_shown(text: str, seconds: float) -> None:
    assert read_answer(text, scale_of("s")).value == seconds


@pytest.mark.parametrize("code", ["de", "zh"])
def test_a_lab_speaks_the_language_of_the_visitor(code: str) -> None:
    for lab in known_labs().values():
        with speaking(code):
            shown = told(lab)
        forms = [lab, lab.gpu] if lab.gpu else [lab]
        kept = {name for form in forms for one in form.measures.values() for name in one.derived}
        kept |= {form.processors_only for form in forms}
        with speaking(code):
            said = {word: translate_known(word) for word in words_of(lab)}
        assert words_of(shown) - kept <= set(said.values())
        assert shown.starts == lab.starts
        assert told(lab) is lab


def test_moves_are_told_again_in_forms_of_their_own(catalog: Catalog) -> None:
    kinds = {form.partition(" {")[0] for form in MOVES}
    assert kinds == {str(kind) for kind in MoveKind}
    asked = [one for one in catalog.exercises if isinstance(one, Sharding)]
    assert len(asked) > 3
    for one in asked:
        for move in map(str, one.task(0).moves):
            with speaking("de"):
                told_ = retold_move(move)
            assert retold_move(move) == move
            assert not re.search(r"\b(over|along|keep|multiply)\b", told_)


def test_notes_on_recorded_runs_have_known_forms() -> None:
    notes = {note for report in recorded() for note in report.notes}
    assert len(notes) > 5
    with speaking("zh"):
        assert [note for note in notes if retold_note(note) == note] == []
        assert retold_note("On processors, over gloo: it measures the processor itself.") == (
            "在处理器上，经 gloo：它测量的就是处理器本身。"
        )
        assert retold_note("Written by hand.") == "Written by hand."
        assert retold_limit("the 8 network cards of a node") == "一个节点的 8 张网卡"
    assert len(NOTES) > 10
