from app.authoring.texts import SEEDS, distinct
from app.core.folders import ROOT
from app.course.content.translations import read_exercise
from app.course.kinds import KINDS


def test_kinds_that_only_draw_make_the_same_exercise_of_the_same_values() -> None:
    for kind in KINDS.values():
        if not kind.only_draws:
            continue
        topic, _, name = kind.sample.partition("/")
        exercise, _ = read_exercise(ROOT / "exercises" / topic / f"{name}.yaml", topic)
        first: dict[tuple[tuple[str, str], ...], int] = {}
        for seed in SEEDS:
            values = tuple(exercise.draw(seed).shown.items())
            one = first.setdefault(values, seed)
            assert exercise.question(seed) == exercise.question(one)
            assert exercise.right_answer(seed) == exercise.right_answer(one)
            assert exercise.variant(seed).solution == exercise.variant(one).solution
        assert list(distinct(exercise, SEEDS)) == list(first.values())
        assert len(first) < len(SEEDS), kind.sample
