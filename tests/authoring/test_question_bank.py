"""What of an exercise another system's question bank can have, with hand-made questions and those of the course."""

import pytest

from app.authoring.question_bank import (
    BankThing,
    NotPortableError,
    NumberBody,
    NumberField,
    OptionBody,
    PairBody,
    StepBody,
    bank_question,
    other_units,
    place_links,
)
from app.core.units.scales import scale_of
from app.course.content.catalog import Catalog
from app.course.kinds.choice import Choice
from app.course.kinds.code.buggy_line import BuggyLine
from app.course.kinds.numeric import Numeric
from app.course.kinds.order import Match, Order
from tests.each import each


def field(symbol: str, name: str = "x") -> NumberField:
    return NumberField(name=name, title="", scale=scale_of(symbol), low=1, high=3, right=2, praise="", wrong=())


@each(("symbols", "left"), [([""], ()), (["ms"], ("units of other sizes",)), (["", "ms"], ("units of other sizes",))])
def test_only_a_number_with_a_unit_is_without_units_of_other_sizes(symbols: list[str], left: tuple[str, ...]) -> None:
    assert other_units(NumberBody(tuple(map(field, symbols)))) == left


def test_links_into_the_site_alone_are_placed() -> None:
    html = '<a href="/a">one\n<b>1</b></a> <a href="https://x.org/">two</a> <a href="/b#c">three</a>'
    assert place_links(html, "https://w.org") == (
        '<a href="https://w.org/a">one\n<b>1</b></a> <a href="https://x.org/">two</a> <a href="https://w.org/b#c">three</a>'
    )
    assert place_links(html, "") == 'one\n<b>1</b> <a href="https://x.org/">two</a> three'


def test_a_question_is_named_after_its_drawing(catalog: Catalog) -> None:
    varied = next(one for one in catalog.exercises if isinstance(one, Numeric) and one.variation)
    asked = bank_question(varied, 3)
    assert (asked.title, asked.id) == (f"{varied.title} (3)", f"{varied.id}#3")
    assert asked.tags == ("wallclock", varied.id.split("/")[0], *varied.skills)
    assert (asked.prompt, asked.solution) == (varied.variant(3).prompt, varied.variant(3).solution)
    assert asked.hints == varied.variant(3).hints


def test_what_is_left_behind_is_the_figure_and_what_builds_on_a_part(catalog: Catalog) -> None:
    figure, part = "the figure under the prompt", "points for a part that is right by a wrong earlier one"
    numeric = [one for one in catalog.exercises if isinstance(one, Numeric)]
    for one in numeric:
        assert (figure in bank_question(one, 0).without) == (one.figure is not None), one.id
    several = next(one for one in numeric if len(one.answers) == 2)
    (first, second) = several.answers
    for answer, is_left in (
        (f"2 * {first}", True),
        (f"m.{first}", False),
        (f"{first}2 + 1", False),
        (f"{first}(1)", False),
    ):
        asked = several.answers[second].model_copy(update={"answer": answer})
        part_of = several.model_copy(update={"answers": {first: several.answers[first], second: asked}})
        assert (part in _without(part_of, several)) == is_left, answer


def _without(changed: Numeric, original: Numeric) -> tuple[str, ...]:
    """What *changed* is without, with the keys of the *original*."""
    object.__setattr__(changed, "keys", original.keys)
    return bank_question(changed, 0).without


def test_every_number_is_told_in_its_unit_and_what_is_right_here_is_right_there(catalog: Catalog) -> None:
    mistakes = 0
    for exercise in (one for one in catalog.exercises if isinstance(one, Numeric)):
        body = bank_question(exercise, 1).body
        assert isinstance(body, NumberBody)
        for asked, (name, key) in zip(body.fields, exercise.keys(1).items(), strict=True):
            factor = key.asked.scale.factor
            assert asked.low <= asked.right <= asked.high, exercise.id
            assert (asked.low * factor, asked.high * factor) == pytest.approx((key.low, key.high))
            assert asked.name == name
            assert (asked.title == "") == (not exercise.answers)
            for wrong in asked.wrong:
                mistakes += 1
                assert 0 <= wrong.near <= abs(wrong.value) / 10 * (1 + 1e-12), exercise.id
                assert wrong.near * factor <= key.asked.slack(wrong.value * factor) * (1 + 1e-12)
            assert len(asked.wrong) == len(key.mistakes)
    assert mistakes > 100


def test_options_have_the_verdict_the_share_and_the_sentence_that_they_have_here(catalog: Catalog) -> None:
    for exercise in (one for one in catalog.exercises if isinstance(one, Choice)):
        body = bank_question(exercise, 1).body
        assert isinstance(body, OptionBody)
        assert {one.key for one in body.options if one.is_right} == set(exercise.right(1)), exercise.id
        assert (body.many, body.shuffled) == (exercise.many, True)
        assert [one.share for one in body.options] == [exercise.options[one.key].score for one in body.options]
        assert len(body.options) == len(exercise.question(1).options)


def test_the_lines_of_a_listing_are_numbered_and_the_blank_ones_left_out(catalog: Catalog) -> None:
    for exercise in (one for one in catalog.exercises if isinstance(one, BuggyLine)):
        body = bank_question(exercise, 1).body
        assert isinstance(body, OptionBody)
        lines = exercise.question(1).lines
        assert [one.key for one in body.options] == [str(at + 1) for at, line in enumerate(lines) if line.strip()]
        assert [one.text.rstrip() for one in body.options] == [
            f"    {at:>2}  {line}".rstrip() for at, line in enumerate(lines, 1) if line.strip()
        ]
        assert [one.key for one in body.options if one.is_right] == [exercise.right_answer(1)]
        assert (body.many, body.shuffled) == (False, False)
        right = next(one for one in body.options if one.is_right)
        assert right.says, "why that line is the bug"


def test_pairs_have_their_partners_and_what_is_said_of_wrong_ones(catalog: Catalog) -> None:
    for exercise in (one for one in catalog.exercises if isinstance(one, Match)):
        body = bank_question(exercise, 1).body
        assert isinstance(body, PairBody)
        found = {thing.key: thing for thing in body.things}
        for key, thing in exercise.things.items():
            assert found[key].partners == tuple(thing.partners)
            assert set(found[key].says) == set(thing.says)
        assert isinstance(body.things[0], BankThing)
        assert set(body.partners) >= {partner for thing in body.things for partner in thing.partners}


def test_an_order_is_carried_over_only_if_it_is_the_one_right_one_of_all_steps(catalog: Catalog) -> None:
    orders = [one for one in catalog.exercises if isinstance(one, Order)]
    outcomes = set()
    for exercise in orders:
        count = len(exercise.items)
        free = len(exercise.before) < count * (count - 1) // 2
        if exercise.strangers or free:
            outcomes.add("strangers" if exercise.strangers else "free")
            with pytest.raises(NotPortableError, match="belong nowhere" if exercise.strangers else "several orders"):
                bank_question(exercise, 1)
        else:
            outcomes.add("carried")
            body = bank_question(exercise, 1).body
            assert isinstance(body, StepBody)
            assert list(body.steps) == list(exercise.items)
            assert sorted(body.shown) == sorted(body.steps)
            assert body.has_feedback == bool(exercise.says)
    whole = next(one for one in orders if not one.strangers and _is_whole(one))
    pairs = sorted(whole.before)
    for missing in (1, 2):
        fewer = whole.model_copy()
        fewer.__dict__["before"] = frozenset(pairs[missing:])
        with pytest.raises(NotPortableError, match="several orders"):
            bank_question(fewer, 1)
    assert "carried" in outcomes
    assert len(outcomes) > 1


def _is_whole(exercise: Order) -> bool:
    count = len(exercise.items)
    return len(exercise.before) == count * (count - 1) // 2


def test_what_only_a_server_can_judge_is_refused_with_its_kind(catalog: Catalog) -> None:
    function = next(one for one in catalog.exercises if one.kind == "function")
    with pytest.raises(NotPortableError, match="only a server can judge it"):
        bank_question(function, 0)
