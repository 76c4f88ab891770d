"""Regressions: what solving every exercise blind found wrong, and must stay fixed.

The expected figures were worked out by hand or by a simulation of its own, not by the formulas.
"""

import asyncio
from collections.abc import Iterable

import pytest

from app.core.expressions import Quantity, evaluate
from app.core.simulators.pipeline import build
from app.course.content.catalog import Catalog
from app.course.kinds import Answer, Exercise
from app.course.kinds.design import Design
from app.course.kinds.expression import Expression
from app.course.sandbox.runner import Runner
from tests.each import each

# exercise, seed, answer, whether it is right, what is said of it
VERDICTS: tuple[tuple[str, int, Answer, bool, str], ...] = (
    # 13 billion parameters on 32 GPUs: stage 1 needs 52 + 4.875 + 20 = 76.9 of 75 GB, so stage 2 is
    # the mildest; on 8 GPUs it sends 45.5 GB, on 32 it sends 50.4.
    ("memory/the-mildest-stage", 5, {"stage": "2", "gpus": "32"}, True, "Right"),
    ("memory/the-mildest-stage", 5, {"stage": "2", "gpus": "8"}, True, "Right"),
    ("memory/the-mildest-stage", 5, {"stage": "3", "gpus": "4"}, False, "sends less"),
    ("memory/the-mildest-stage", 5, {"stage": "1", "gpus": "32"}, False, "76.88 GB"),
    ("memory/llama-405b-stage-1", 0, "1620 GB", False, "The shard is missing"),
    # 4 N d/S blocks, with each of which 3 N d values pass, against 4 N².
    ("attention/share-of-the-traffic", 0, {"narrow": "0.24", "wide": "0.96", "saving": "4.17"}, True, ""),
    ("attention/share-of-the-traffic", 0, {"narrow": "0.247", "wide": "0.964", "saving": "4.05"}, True, ""),
    ("attention/share-of-the-traffic", 0, {"narrow": "0.08"}, False, "order of growth"),
    # 63 of 1,154,406.5 steps.
    ("rates/steps-of-a-ramp", 0, "1154406.5", True, ""),
    ("rates/steps-of-a-ramp", 0, "1154343.5", False, "first stage"),
    ("rates/steps-of-a-ramp", 7, "1437400", False, "first stage"),
    ("rates/share-of-the-warm-up", 0, {"steps": "0.00667 %"}, False, "a hundred times"),
    # 8,192 · 16,384 · 34 / 8 bytes, 16 micro-batches of 7 layers.
    ("capstone/activations-of-stage-zero", 0, "63.9 GB", True, ""),
    ("capstone/activations-of-stage-zero", 0, "71.9 GB", False, "holds 7, not 7.875"),
    # 16,384 GPUs are 5.33 pods of 3,072.
    ("capstone/pipelines-in-a-pod", 0, {"copies": "24", "pods": "6", "in_order": "6", "dealt": "128"}, True, ""),
    ("capstone/pipelines-in-a-pod", 0, {"pods": "5"}, False, "need a pod too"),
    # 30.84 million GPU-hours on 16,384 GPUs are 78.4 days.
    ("capstone/energy-and-dollars", 0, {"energy": "21.58 GWh", "rental": "61.66e6 $"}, False, "Right: 21.58 GWh"),
    ("overlap/best-speed-up", 7, "33.3 %", False, "1 more than that"),
    ("overlap/best-speed-up", 7, "25 %", False, "the part of the step that goes away"),
    # 20 GB between 6 nodes of 8: a ring over 8 ranks instead of 6 is told apart.
    ("overlap/between-nodes", 0, {"across": "333.3", "within": "116.7", "rails": "83.3"}, True, ""),
    ("overlap/between-nodes", 0, {"across": "350"}, False, "350 ms is too large"),
    ("checkpoints/young-interval", 7, {"overhead": "3.127 %"}, False, "Right: 3.227 %"),
    ("checkpoints/cost-of-a-failure", 7, {"saving": "3511 $"}, False, "the interval already includes"),
    ("precision/machine-epsilon", 7, "9.766e-4", True, ""),
    ("precision/machine-epsilon", 0, "2^-10", False, "10 fraction bits"),
    ("experts/capacity", 0, {"share": "128", "capacity": "160", "dropped": "32"}, True, ""),
    ("hardware/smallest-product", 0, "885", False, "Round up"),
    ("hardware/days-on-a-cluster", 0, {"cost": "7 %"}, False, "inverse of the ratio"),
    # Each micro-batch of 8 sequences holds 8 GB, and there are 4. Of those that fit, (2, 4) is fastest:
    # (16 * 4 + 7) * 25.5 ms = 1,810.5 ms against (16 * 8 + 7) * 14.25 ms = 1,923.75 ms.
    ("pipelines/a-bubble-that-fits", 0, {"micro": "8", "chunks": "1"}, False, "keeps 32 GB"),
    ("pipelines/a-bubble-that-fits", 0, {"micro": "2", "chunks": "8"}, False, "perhaps with another micro-batch"),
    # A sentence with three faults: what fills the gaps, who found it, and that nothing is left.
    ("pipelines/who-found-it", 0, ["updates", "sea", "remains"], True, "one per step"),
    ("pipelines/who-found-it", 0, ["sea", "remains", "split"], False, "1 more option is right"),
    ("pipelines/a-third-of-the-bubble", 7, "0.0680", False, "percentage"),
)  # fmt: skip

# exercise, seed, what its page says since
SAID = (
    ("overlap/two-nodes-on-the-clock", 0, "1 + 2 + 1 = 4"),
    ("overlap/two-nodes-on-the-clock", 0, "The two extra latencies are 8 ms, but the difference is 154.8 ms."),
    ("overlap/two-nodes-on-the-clock", 0, "1.5 times as many"),
    ("overlap/best-speed-up", 0, "How many times as fast"),
    ("overlap/between-nodes", 0, "300 GB/s per GPU in one direction"),
    ("meshes/tensor-across-nodes", 0, "63 ms · 6 = 378 ms, and 405 ms"),
    ("meshes/tensor-across-nodes", 0, "270 %"),
    ("hardware/the-cube-of-the-side", 0, "took 1/43 of the time of the next"),
    ("hardware/three-ratios", 0, "**9**, which also holds when all 8 GPUs send at the same time"),
    ("attention/intensity-of-attention", 0, "scores and probabilities are each written and read"),
    ("sharding/flat-traffic", 0, "fully sharded over 64 GPUs"),
    ("collectives/derive-the-time", 0, "a reduce-scatter, then an all-gather"),
    ("pipelines/interleaved", 0, "A pipeline of 4 stages runs 12 micro-batches"),
    ("memory/llama-405b-stage-1", 0, "A model of 405 billion parameters"),
    ("tensor/sequence-parallel-memory", 0, "and 10 around them"),
    ("experts/bytes-of-a-token", 0, "on 4 nodes other than its own"),
    ("experts/utilization", 0, "of that it reached 17 %"),
    ("capstone/energy-and-dollars", 0, "Suppose that the run reaches 40 % MFU"),
    ("rates/warm-up", 0, "where it takes 100,000 steps in total"),
    ("collectives/latency-on-top", 0, "70 µs"),
)  # fmt: skip

# What is false and was said once, anywhere in the course.
FALSE = (
    "also 6 at 2 ranks a node", "three times the bytes. The time follows", "= 376 ms",
    "multiply-adds' worth", "sends a third less.", "Fewer chunks work, too", "each sends 50 GB/s",
    "From which arithmetic intensity on", "A program shall", 
    "are gone through", "no part of it", "a 8 ×", "A survey of the field", "1,170", "1170",
    "at the beginning and at the end of each step", "The same pipeline", "And under ZeRO",
    "The same ring:", "The same without groups", "in the exercise before", "A share of one hundredth",
)  # fmt: skip


def found(catalog: Catalog, exercise: str) -> Exercise:
    return catalog.exercise(exercise)


def on_one_line(texts: Iterable[str]) -> str:
    return " ".join(" ".join(texts).split())


def page(exercise: Exercise, seed: int) -> str:
    """Every text of *exercise* with the values that *seed* draws."""
    drawn = exercise.solved(exercise.draw(seed))
    texts = [text for _, text in exercise.texts()]
    return on_one_line(exercise.fill(text, drawn) for text in (*texts, exercise.solution))


@each(
    ("exercise", "seed", "answer", "correct", "says"),
    VERDICTS,
    ids=[f"{row[0]}-{place}" for place, row in enumerate(VERDICTS)],
)
def test_an_answer_that_was_misjudged_is_graded_correctly(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop,
    exercise: str, seed: int, answer: Answer, correct: bool, says: str,
) -> None:  # fmt: skip
    verdict = loop.run_until_complete(found(catalog, exercise).grade(seed, answer, runner))
    assert verdict.correct is correct, verdict.feedback
    assert says in " ".join(verdict.feedback)


@each(("exercise", "seed", "says"), SAID, ids=[f"{row[0]}-{place}" for place, row in enumerate(SAID)])
def test_what_was_wrong_or_ambiguous_says_what_is_meant(catalog: Catalog, exercise: str, seed: int, says: str) -> None:
    assert says in page(found(catalog, exercise), seed)


@each("says", FALSE)
def test_false_and_unidiomatic_phrases_do_not_return(catalog: Catalog, says: str) -> None:
    texts = [f"{topic.summary} {topic.opening} {topic.closing}" for topic in catalog.topics]
    for exercise in catalog.exercises:
        texts += [exercise.title, exercise.solution, *(text for _, text in exercise.texts())]
        texts += [str(values) for values in exercise.cases]
    assert says not in on_one_line(texts)


def passed_through(stages: list[float], microbatches: int) -> float:
    """When the last of *microbatches* leaves the last of *stages*, played one by one."""
    free = [0.0] * len(stages)
    for _ in range(microbatches):
        ready = 0.0
        for place, takes in enumerate(stages):
            ready = free[place] = max(ready, free[place]) + takes
    return free[-1]


@each("slow", [0, 3, 6])
def test_the_idle_share_beside_a_slow_stage_is_played(catalog: Catalog, slow: int) -> None:
    exercise = found(catalog, "pipelines/derive-the-fraction")
    assert isinstance(exercise, Expression)
    for m, x in ((1, 0.25), (12, 0.0), (40, 0.25)):
        forward = [1.0 + x * (place == slow) for place in range(7)]
        backward = [2 * takes for takes in reversed(forward)]
        step = passed_through(forward, m) + passed_through(backward, m)
        names = {"p": Quantity(7), "m": Quantity(m), "x": Quantity(x)}
        idle = evaluate(exercise.answer, names)
        assert idle.value == pytest.approx(1 - 3 * m / step, rel=1e-12)


@each("seed", range(0, 60, 5))
def test_no_design_that_keeps_more_sequences_than_there_are(catalog: Catalog, seed: int) -> None:
    exercise = found(catalog, "pipelines/a-bubble-that-fits")
    assert isinstance(exercise, Design)
    names = exercise.draw(seed).names
    for micro in (1, 2, 4, 8):
        for chunks in (1, 2, 3, 4, 8):
            chosen = {"micro": Quantity(micro), "chunks": Quantity(chunks)}
            known = {**names, **chosen}
            for name, text in exercise.derive.items():
                known[name] = evaluate(str(text), known)
            most = evaluate("batch * each", known)
            assert known["held"].value <= most.value


def test_a_design_of_the_same_stage_is_never_told_that_a_milder_one_sends_less(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    exercise = found(catalog, "memory/the-mildest-stage")
    for seed in (0, 2, 5):
        for stage in "0123":
            for gpus in ("4", "8", "16", "32", "64"):
                answer = {"stage": stage, "gpus": gpus}
                verdict = loop.run_until_complete(exercise.grade(seed, answer, runner))
                if "milder" in verdict.feedback[0]:
                    assert stage == "3"


def test_the_order_of_1f1b_is_that_of_the_schedule_played(catalog: Catalog) -> None:
    exercise, orders = catalog.exercise("pipelines/order-of-1f1b"), set()
    for seed in range(20):
        drawn = exercise.draw(seed)
        stages, stage = (int(drawn.names[name].value) for name in ("stages", "stage"))
        played = build("1f1b", stages, 4).orders[stage]
        order = [f"{one.kind}{one.microbatch}" for block in played for one in block]
        assert exercise.reveal(seed).splitlines() == [f"{place}. {text}" for place, text in enumerate(order, 1)]
        assert " ".join(order) in exercise.variant(seed).solution
        orders.add(tuple(order))
    assert len(orders) == 3
