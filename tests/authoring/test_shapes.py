"""What lint says of the shape of a text, of hidden characters, of lengths, and of cures, without a file."""

from typing import Any

import pytest

from app.authoring.chapter_proofs import asked_formulas, prove_chapter, prove_characters, prove_shape, prove_text
from app.authoring.giveaways import add_cure, finding_cure, too_long
from app.authoring.proofs import Places
from app.authoring.texts import Script, distinct, drawn_values, written_numbers
from app.core.expressions import Quantity
from app.core.folders import ROOT
from app.core.units import BYTE, RATIO
from app.course.content.catalog import Catalog
from app.course.content.topic_file import TopicFile
from app.course.content.translations import read_topic
from app.course.kinds import Finding
from app.course.kinds.choice import Choice
from tests.each import each

PLACES = Places([ROOT / "exercises"])


@each(
    ("text", "what"),
    [
        ("| a | b | |---|---| | 1 | 2 |", "a table"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ""),
        ("see ``` x ``` here ~~~", "a code block"),
        ("```\nx\n```", ""),
        ("all of it: - one thing - another", "a list"),
        ("1. one 2. two", "a list"),
        ("* one * two", "a list"),
        ("- one\n- two", ""),
        ("a - b - c", ""),
        ("=== step ===", "a drawing"),
        ("no === here", ""),
        ("`| a | b | |---|---|`", ""),
        ("", ""),
    ],
)
def test_structure_that_was_folded_into_a_line_is_named(text: str, what: str) -> None:
    found = [one.says for one in prove_shape(("prompt",), text)]
    assert found == ([f"folds {what} into one line"] if what else [])


@each(
    ("text", "brace"),
    [
        ("of {size} bytes", ""),
        ("of {size bytes", "'of {size bytes'"),
        ("a } b", "'a } b'"),
        (r"a \{ b \}", ""),
        ("none", ""),
    ],
)
def test_a_brace_that_students_would_see_is_quoted(text: str, brace: str) -> None:
    found = [one.says for one in prove_shape(("prompt",), text)]
    assert found == ([f"shows a brace to students: {brace}"] if brace else [])


@each(
    ("text", "says"),
    [
        ("plain", ""),
        ("“quoted”", "shows the quotation marks around it"),
        ("“one” and “two”", ""),
        ("costs $5 and $7", ""),
        ("is $x + 1", "has a $ that is not closed"),
        ("is $2 (n - 1)", "has a $ that is not closed"),
        ("is $x$", ""),
        ("a <b>bold</b> one", "has <b>, and HTML is not used here"),
        ("a `<b>` and 1 < 2 > 0", ""),
        ("a {b", "shows a brace to students"),
    ],
)
def test_what_a_text_loses_on_its_way_to_the_page_is_told(text: str, says: str) -> None:
    found = [one.says for one in prove_shape(("prompt",), text)]
    assert found == [] if not says else any(says in one for one in found), found


@each(
    ("text", "code"),
    [
        ("a\u200bb", "U+200B"), ("a\x07", "U+0007"), ("\u202e", "U+202E"), ("\ufeff", "U+FEFF"), ("a\nb\tc", ""),
        ("ä – “x” 显存", ""), ("\u00ad", "U+00AD"), ("\u3164", "U+3164"),
    ],
)  # fmt: skip
def test_a_character_that_cannot_be_seen_is_named_where_it_is(text: str, code: str) -> None:
    values: dict[str, Any] = {"a": ["fine", {"b": text}], "n": 7}
    found = list(prove_characters(values))
    assert [one.where for one in found] == ([("a", 1, "b")] if code else [])
    assert all(code in one.says for one in found)
    assert [one.where for one in prove_characters({text: 1})] == ([(text,)] if code else [])


def test_a_text_of_a_chapter_has_mathematics_and_links_that_work() -> None:
    assert list(prove_text(("opening",), "See [it](/formulas) and $x^2$.", PLACES)) == []
    found = [one.says for one in prove_text(("opening",), r"$\frac{a$ and [it](/none)", PLACES)]
    assert len(found) >= 2
    assert any("/none" in one for one in found)


def test_every_text_of_a_chapter_and_its_place_are_proven() -> None:
    topic, _ = read_topic(ROOT / "exercises" / "collectives" / "topic.yaml")

    def faults(**changes: Any) -> list[str]:
        changed: TopicFile = topic.model_copy(update=changes)
        return ["/".join(map(str, one.where)) for one in prove_chapter(changed, "collectives", PLACES)]

    assert faults() == []
    assert faults(opening=f"{topic.opening}\n\n[it](/none)") == ["opening"]
    assert faults(closing="[it](/none)") == ["closing"]
    assert faults(needs=("none",)) == ["needs/0"]
    assert faults(needs=("collectives",)) == ["needs/0"], "a chapter does not need itself"
    assert faults(placement="none") == ["placement"]
    fact = topic.facts[0]
    assert faults(facts=(fact.model_copy(update={"formula": "none.none"}),)) == ["facts/0"]
    assert faults(facts=(fact.model_copy(update={"see": "/none"}),)) == ["facts/0"]
    if topic.questions:
        asked = topic.questions[0]
        others = topic.questions[1:]
        assert faults(questions=(asked.model_copy(update={"says": "[it](/none)"}), *others)) == ["questions/0/says"]
        assert faults(questions=(asked.model_copy(update={"prompt": "[it](/none)"}), *others)) == ["questions/0/prompt"]


def test_formulas_that_are_only_mentioned_are_not_asked(catalog: Catalog) -> None:
    ring = catalog.exercise("collectives/ring-all-reduce-time")
    assert "collectives.ring_all_reduce_time" in asked_formulas(ring)
    named = ring.model_copy(update={"solution": "as memory.training_state says", "insight": "memory.training_state"})
    assert asked_formulas(named) == asked_formulas(ring)


def choice(catalog: Catalog, right: int, wrong: int) -> Choice:
    """A choice whose right option has as many characters, and whose others have that many at most."""
    exercise = catalog.exercise("memory/fsdp-default")
    assert isinstance(exercise, Choice)
    options = {
        key: one.model_copy(update={"text": "x" * (right if key == exercise.correct else wrong), "when": ""})
        for key, one in exercise.options.items()
    }
    return exercise.model_copy(update={"options": options})


def test_a_right_option_may_be_longer_but_not_by_far(catalog: Catalog) -> None:
    lengths = [(40, 20), (41, 20), (35, 10), (60, 40), (61, 40)]
    assert [bool(list(too_long(choice(catalog, *pair)))) for pair in lengths] == [False, True, False, False, True]
    (says,) = too_long(choice(catalog, 41, 20))
    assert "the right option has 41 characters, and no other has more than 20" in says
    assert list(too_long(catalog.exercise("collectives/ring-all-reduce-time"))) == []


@each(
    ("says", "cure"),
    [
        ("no formula is called 'x'", "/authoring lists the functions"),
        ("x has a comma", "decimals begin with a point"),
        ("every option is right", "change or remove one"),
        ("something else", ""),
    ],
)
def test_a_finding_has_the_cure_of_its_words(says: str, cure: str) -> None:
    assert finding_cure(says).startswith(cure)
    assert bool(finding_cure(says)) == bool(cure)


def test_a_cure_that_is_known_stays_and_others_are_added(catalog: Catalog) -> None:
    assert add_cure(Finding(("a",), "x has a comma", "my own")).cure == "my own"
    assert add_cure(Finding(("a",), "something else")).cure.startswith("compare it with the sample of its kind")
    unit = add_cure(Finding(("given", "size"), "'GBit' is not known here"))
    assert "known names are those in given" in unit.cure
    exercise = next(one for one in catalog.exercises if one.let)
    name = next(iter(exercise.let))
    circular = add_cure(Finding(("answer",), f"seed 3: {name!r} is not known here"), exercise)
    assert circular.where == ("let", name)
    assert circular.says == f"seed 3: {name!r} depends on itself, or is used before it is worked out"


@each(
    ("text", "found"),
    [
        ("Four chunks at 1,024 GB/s", [("Four chunks", 4.0, False), ("1,024 GB/s", 1.024e12, True)]),
        ("3 million tokens", [("3 million tokens", 3e6, True)]),
        ("7B weights", [("7B", 7e9, True)]),
        ("50 per cent, 2.5 %", [("50 per cent", 0.5, True), ("2.5 %", 0.025, True)]),
        ("H100, v2, x-4, a/3", []),
        ("{size} and 12", [("12", 12.0, False)]),
    ],
)
def test_numbers_in_prose_are_found_with_their_units(text: str, found: list[tuple[str, float, bool]]) -> None:
    numbers = list(written_numbers(text))
    assert [(one.text, one.has_unit) for one in numbers] == [(said, has_unit) for said, _, has_unit in found]
    assert [one.value for one in numbers] == pytest.approx([value for _, value, _ in found])


def test_a_number_equals_what_it_is_rounded_from_in_its_own_unit() -> None:
    (written,) = written_numbers("1.5 GB")
    near, edge, far = (Quantity(value, BYTE.dimension) for value in (1.549e9, 1.55e9, 1.5501e9))
    assert [written.equals(one) for one in (near, edge, far)] == [True, True, False]
    assert not written.equals(Quantity(1.5e9, RATIO.dimension))
    assert not written.equals(None)
    assert [next(written_numbers(text)).is_distinctive for text in ("123", "12", "1200", "0.012", "1,234")] == [
        True, False, False, False, True,
    ]  # fmt: skip


def test_seeds_that_draw_the_same_stand_for_one_and_values_are_told_shortly(catalog: Catalog) -> None:
    ring = catalog.exercise("collectives/ring-all-reduce-time")
    seeds = list(distinct(ring, [0, 0, 1, 0, 1]))
    assert seeds == [0, 1]
    assert drawn_values(ring.draw(0)) == " (ranks 8, size 2 GB, bandwidth 50 GB/s)"
    plain = next(one for one in catalog.exercises if not one.draw(0).shown)
    assert drawn_values(plain.draw(0)) == ""
    script = Script(ring)
    assert script.varying <= script.drawn | {"answer"}
    assert ("title",) in [where for where, _ in script.questions]
    assert ("solution",) in [where for where, _ in script.texts]
    assert ("solution",) not in [where for where, _ in script.questions]
