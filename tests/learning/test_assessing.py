"""The placement asks what decides most; a final is spread over chapters and kinds."""

from collections import Counter
from dataclasses import replace

from app.course.content.catalog import Catalog
from app.course.learning import (
    FINAL_QUESTIONS,
    PLACEMENT_QUESTIONS,
    FinalTally,
    Prerequisites,
    final_questions,
    place_learner,
    placement_question,
    seed_in,
    tally_answers,
)
from tests.each import each


def play(catalog: Catalog, knows: frozenset[str], draw: int = 7) -> list[tuple[str, bool]]:
    """The answers of a learner who *knows* these chapters, until nothing is asked."""
    answers: list[tuple[str, bool]] = []
    while question := placement_question(catalog, answers, draw):
        assert question.number == len(answers) + 1
        chapter = catalog.topic_of(question.exercise)
        assert question.exercise.id == chapter.placement
        assert question.exercise.minutes <= 5
        found = place_learner(Prerequisites(catalog.topics), answers)
        assert chapter.id not in found.known | found.unknown
        answers.append((chapter.id, chapter.id in knows))
    return answers


def closed(catalog: Catalog, *names: str) -> frozenset[str]:
    graph = Prerequisites(catalog.topics)
    return frozenset(names).union(*(graph.before[name] for name in names))


@each("best", [(), ("hardware",), ("tensor",), ("serving", "sharding"), ("meshes",), ("capstone", "rl")])
def test_the_placement_says_nothing_wrong_about_who_knows_what_they_built_on(
    catalog: Catalog, best: tuple[str, ...]
) -> None:
    knows = closed(catalog, *best)
    answers = play(catalog, knows)
    assert len(answers) <= PLACEMENT_QUESTIONS
    assert len(dict(answers)) == len(answers)  # no chapter twice
    found = place_learner(Prerequisites(catalog.topics), answers)
    assert found.known <= knows
    assert not found.unknown & knows
    assert len(found.known | found.unknown) > len(answers)  # it says more than was asked


def test_the_questions_decide_more_than_as_many_in_the_order_of_the_course(catalog: Catalog) -> None:
    graph, gains = Prerequisites(catalog.topics), []
    for best in ((), ("tensor",), ("meshes",), tuple(graph.before)):
        knows = closed(catalog, *best)
        chosen = place_learner(graph, play(catalog, knows))
        plain = place_learner(graph, [(t.id, t.id in knows) for t in catalog.topics[:PLACEMENT_QUESTIONS]])
        gains.append(len(chosen.known | chosen.unknown) - len(plain.known | plain.unknown))
    assert min(gains) >= 0
    assert sum(gains) >= len(gains)


def test_an_answer_is_not_outweighed_and_a_lost_chapter_does_no_harm(catalog: Catalog) -> None:
    graph = Prerequisites(catalog.topics)
    found = place_learner(graph, [("gone", True), ("collectives", False), ("meshes", True)])
    assert {"meshes", "collectives"} <= found.known
    assert not found.known & found.unknown
    assert "networks" in found.unknown
    bare = replace(catalog, topics=tuple(replace(t, placement="") for t in catalog.topics))
    assert placement_question(bare, [], 7) is None


def test_a_placement_about_a_route_asks_about_its_chapters_alone(catalog: Catalog) -> None:
    for route in ("train", "serve", "cluster"):
        topics = [topic for topic in catalog.topics if route in topic.routes]
        answers: list[tuple[str, bool]] = []
        while question := placement_question(catalog, answers, 7, topics):
            answers.append((catalog.topic_of(question.exercise).id, len(answers) % 2 == 0))
        assert answers
        assert {name for name, _ in answers} <= {topic.id for topic in topics}
    assert placement_question(catalog, [], 7, []) is None


def test_another_placement_has_other_numbers(catalog: Catalog) -> None:
    seeds = {found.seed for n in range(9) if (found := placement_question(catalog, [], n))}
    assert len(seeds) == 9


def test_a_final_is_spread_over_chapters_and_kinds(catalog: Catalog) -> None:
    for draw in range(30):
        questions = final_questions(catalog, draw)
        assert [one.number for one in questions] == list(range(1, FINAL_QUESTIONS + 1))
        chapters = Counter(catalog.topic_of(one.exercise).id for one in questions)
        assert len(chapters) == FINAL_QUESTIONS
        kinds = Counter(one.exercise.kind for one in questions)
        assert len(kinds) >= 5
        assert max(kinds.values()) <= FINAL_QUESTIONS // 2
        assert not set(kinds) & {"lab", "schedule", "function"}
        places = [catalog.exercises.index(one.exercise) for one in questions]
        assert places == sorted(places)


def test_every_chapter_comes_up_and_the_same_number_draws_the_same_final(catalog: Catalog) -> None:
    drawn = {t.id for n in range(30) for q in final_questions(catalog, n) for t in [catalog.topic_of(q.exercise)]}
    assert drawn == {topic.id for topic in catalog.topics} - {"puzzles"}
    assert final_questions(catalog, 5) == final_questions(catalog, 5)
    assert final_questions(catalog, 5) != final_questions(catalog, 6)


def test_a_small_course_has_a_final_of_what_there_is(catalog: Catalog) -> None:
    two = replace(catalog, topics=catalog.topics[:2])
    assert len(final_questions(two, 1)) == FINAL_QUESTIONS
    tiny = replace(catalog, topics=(replace(two.topics[0], exercises=two.topics[0].exercises[:3]),))
    assert len({q.exercise.id for q in final_questions(tiny, 1)}) <= 3


def test_a_tally_is_best_first() -> None:
    pairs = [("a", True), ("b", False), ("a", False), ("d", True), ("c", True), ("c", True)]
    best = (FinalTally("c", 2, 2), FinalTally("d", 1, 1))
    assert tally_answers(pairs) == (*best, FinalTally("a", 1, 2), FinalTally("b", 0, 1))


def test_a_placement_has_six_questions_and_six_answers_are_enough(catalog: Catalog) -> None:
    wrong = [("gone", False)] * (PLACEMENT_QUESTIONS - 1)
    question = placement_question(catalog, wrong, 7)
    assert question
    assert (question.number, PLACEMENT_QUESTIONS) == (6, 6)
    assert placement_question(catalog, [*wrong, ("gone", False)], 7) is None


def test_a_final_asks_nothing_of_more_than_five_minutes(catalog: Catalog) -> None:
    asked = [one.exercise.minutes for draw in range(40) for one in final_questions(catalog, draw)]
    assert max(asked) == 5


def test_a_seed_is_from_one_to_a_million() -> None:
    drawn = [seed_in(draw, number) for draw in range(100) for number in range(1, 21)]
    assert 1 <= min(drawn) < 5_000
    assert 995_000 < max(drawn) <= 1_000_000
    assert len(set(drawn)) > 1_990
