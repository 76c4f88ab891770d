"""The convention that a chapter's opening states holds for each formula beside its exercises."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from app.core.expressions import Quantity, evaluate
from app.core.folders import ROOT
from app.core.formulas import FORMULAS
from app.core.formulas.sharding import causal_ring_imbalance, context_ring_bytes
from app.core.measurements.table import factor_of
from app.core.simulators.pipeline import build
from app.core.simulators.pipeline.player import Times, simulate_schedule
from app.course.content.catalog import Catalog, Topic
from app.course.kinds.expression import Expression
from app.course.kinds.numeric import Numeric
from tests.each import each
from tests.oracles.collectives.exchange import all_to_all
from tests.oracles.collectives.network import CollectiveResult, Message, Network
from tests.oracles.collectives.ring import ring_all_gather, ring_all_reduce, ring_reduce_scatter
from tests.oracles.sharding import pass_blocks

TOPICS = {name: topic for topic in Catalog.read([ROOT / "exercises"]).topics for name in topic.folders}
SIZE, BANDWIDTH, LATENCY = 3e9, 50e9, 5e-6
DIRECT = ("straight to its rank", "one after another")  # of the parts of an all-to-all
Play = Callable[[float, int, float, float], CollectiveResult]
PLAYS: Mapping[str, Play] = {
    "collectives.ring_all_gather": ring_all_gather,
    "collectives.ring_reduce_scatter": ring_reduce_scatter,
    "collectives.ring_all_reduce": ring_all_reduce,
    "collectives.all_to_all": all_to_all,
}


def facts(topic: Topic, prefix: str) -> Iterator[str]:
    return (fact.formula for fact in topic.facts if fact.formula.startswith(prefix))


def collective_facts() -> list[tuple[str, str]]:
    """Each chapter with each formula of bytes or time of a collective that it lists."""
    return [
        (topic.id, name)
        for topic in TOPICS.values()
        for name in facts(topic, "collectives.")
        if name.endswith(("_bytes", "_time"))
    ]


def forwarded_all_to_all(size: float, ranks: int) -> CollectiveResult:
    """An all-to-all without a switch: on a one-way ring, a part is forwarded until it arrives."""
    network = Network(BANDWIDTH, 0.0)
    for distance in range(1, ranks):
        for _ in range(distance):
            network.step(Message(r, (r + 1) % ranks, size / ranks) for r in range(ranks))
    return network.played()


def test_every_collective_of_a_chapter_sends_what_its_play_sends() -> None:
    assert len(collective_facts()) >= 10
    for chapter, name in collective_facts():
        play = PLAYS[name.rpartition("_")[0]]  # a new one needs a simulator
        for ranks in (3, 5, 8):
            played = play(SIZE, ranks, BANDWIDTH, LATENCY)
            if name.endswith("_bytes"):
                expected = FORMULAS[name].function(SIZE, ranks)
                found = [played.sent(rank) for rank in range(ranks)]
            else:
                expected = FORMULAS[name].function(SIZE, ranks, BANDWIDTH, LATENCY)
                found = [played.time]
            assert found == pytest.approx([expected] * len(found)), (chapter, name, ranks)


def test_a_chapter_with_an_all_to_all_does_not_put_every_collective_on_a_ring() -> None:
    chapters = [chapter for chapter, name in collective_facts() if "all_to_all" in name]
    assert len(chapters) >= 3
    for chapter in chapters:
        opening = " ".join(TOPICS[chapter].opening.split())
        assert "every collective on a ring" not in opening, chapter
        assert any(words in opening for words in DIRECT), chapter


@each("ranks", [3, 4, 8])
def test_on_a_ring_an_all_to_all_would_send_half_of_a_gather(ranks: int) -> None:
    gathered = ring_all_gather(SIZE * ranks, ranks, BANDWIDTH).sent(0)
    assert forwarded_all_to_all(SIZE, ranks).sent(0) == pytest.approx(gathered / 2)
    assert all_to_all(SIZE, ranks, BANDWIDTH).sent(0) == pytest.approx(gathered / ranks)


@each(
    ("collective", "sent"),
    [
        ("all_reduce", lambda n: ring_all_reduce(SIZE, n, BANDWIDTH).sent(0)),
        ("all_gather", lambda n: ring_all_gather(SIZE, n, BANDWIDTH).sent(0)),
        ("reduce_scatter", lambda n: ring_reduce_scatter(SIZE, n, BANDWIDTH).sent(0)),
        ("alltoall", lambda n: all_to_all(SIZE, n, BANDWIDTH).sent(0)),
    ],
)
def test_the_bus_bandwidth_is_what_a_rank_sends_per_second(collective: str, sent: Callable[[int], float]) -> None:
    for ranks in (3, 5, 8):
        assert factor_of(collective, ranks) == pytest.approx(sent(ranks) / SIZE)
    opening = TOPICS["collectives"].opening
    words = collective.replace("alltoall", "all_to_all").replace("_", "-")
    assert words in opening[opening.index("*Bus bandwidth*") :]


@each(("nodes", "gpus"), [(3, 4), (2, 8), (4, 8)])
def test_a_ring_over_all_gpus_enters_each_node_once(nodes: int, gpus: int) -> None:
    """So the NICs of a node carry it together, and each has 1/gpus of it."""
    assert "enters and leaves each node once" in " ".join(TOPICS["bounds"].opening.split())
    ranks = nodes * gpus
    links = ring_all_gather(SIZE, ranks, BANDWIDTH).links
    for node in range(nodes):
        entering = [size for (a, b), size in links.items() if b // gpus == node and a // gpus != node]
        assert entering == pytest.approx([SIZE * (ranks - 1) / ranks])


@each("ranks", [2, 4, 7])
def test_a_ring_of_attention_sends_its_blocks_as_often_as_the_chapter_says(ranks: int) -> None:
    assert [*facts(TOPICS["context"], "sharding.context")] == ["sharding.context_ring_bytes"]
    tokens, heads, head, width = 64, 4, 32, 2
    block = 2 * tokens * heads * head * width
    played = pass_blocks(ranks, block)
    assert played.sent == [context_ring_bytes(1, tokens * ranks, heads, head, width, ranks)] * ranks


@each("ranks", [2, 3, 8])
def test_a_block_on_the_diagonal_is_half_a_block_of_work(ranks: int) -> None:
    assert "half a block of work" in " ".join(TOPICS["context"].opening.split())
    tokens = 400  # of a rank
    work = [
        sum(token + 1 for token in range(rank * tokens, (rank + 1) * tokens))  # itself, and earlier
        for rank in range(ranks)
    ]
    mean = sum(work) / ranks
    assert causal_ring_imbalance(ranks) == pytest.approx(max(work) / mean, rel=2 / tokens)


@each(("stages", "microbatches", "virtual"), [(4, 8, 1), (3, 9, 1), (4, 8, 2), (2, 6, 3)])
def test_the_bubbles_of_chapters_are_those_of_equal_stages_without_messages(
    stages: int, microbatches: int, virtual: int
) -> None:
    listed = {name for topic in TOPICS.values() for name in facts(topic, "pipeline.")}
    assert listed == {"pipeline.bubble_ratio", "pipeline.bubble_fraction"}
    name = "interleaved" if virtual > 1 else "1f1b"
    played = simulate_schedule(build(name, stages, microbatches, virtual), Times(1.0, 1.0, 1.0))
    ideal = 3.0 * microbatches
    idle = played.step_time - ideal
    ratio = FORMULAS["pipeline.bubble_ratio"].function(stages, microbatches, virtual)
    fraction = FORMULAS["pipeline.bubble_fraction"].function(stages, microbatches, virtual)
    assert (ratio, fraction) == pytest.approx((idle / ideal, idle / (ideal + idle)))


@each("ranks", [3, 8])
def test_sharded_traffic_is_a_gather_forward_one_backward_and_a_reduce_scatter(ranks: int) -> None:
    """Stage 3 of the chapters on memory and sharding; the other stages all-reduce."""
    formula = FORMULAS["memory.zero_traffic_bytes"].function
    gather = ring_all_gather(SIZE, ranks, BANDWIDTH).sent(0)
    scatter = ring_reduce_scatter(SIZE, ranks, BANDWIDTH).sent(0)
    assert formula(SIZE, ranks, 3) == pytest.approx(2 * gather + scatter)
    for stage in (0, 1, 2):
        both = ring_all_reduce(SIZE, ranks, BANDWIDTH).sent(0)
        assert formula(SIZE, ranks, stage) == pytest.approx(both)


def mixed_bytes(tokens: float, gpus: float, groups: float, inner: float, hidden: float) -> float:
    """What the exercise on a mix of FSDP and tensor parallelism says that a GPU sends."""
    return 4 * hidden * (inner * (groups - 1) / gpus + tokens / groups - tokens / gpus)


@each("groups", [1, 2, 4, 8, 16])
def test_a_mix_of_two_gathers_weights_over_groups_and_tokens_within_one(groups: int) -> None:
    """Two matrices over the groups; within a group, the tokens in and the sums out."""
    tokens, gpus, inner, hidden = 4096, 16, 28672, 8192
    members = gpus // groups
    weights = 2 * 2.0 * hidden * inner / members
    batch = 2.0 * hidden * tokens / groups
    sent = ring_all_gather(weights, groups, BANDWIDTH).sent(0) if groups > 1 else 0.0
    if members > 1:
        sent += ring_all_gather(batch, members, BANDWIDTH).sent(0)
        sent += ring_reduce_scatter(batch, members, BANDWIDTH).sent(0)
    assert mixed_bytes(tokens, gpus, groups, inner, hidden) == pytest.approx(sent)


@each("seed", [0, 1, 2, 3, 4, 5])
def test_the_best_mix_of_the_exercise_is_the_least_of_all(seed: int) -> None:
    exercise = next(e for e in TOPICS["bounds"].exercises if e.id == "bounds/mix-of-two")
    assert isinstance(exercise, Numeric)
    keys, names = exercise.keys(seed), exercise.draw(seed).names
    tokens, gpus, inner = (names[name].value for name in ("B", "N", "F"))
    least, best = min((mixed_bytes(tokens, gpus, x / 100, inner, 1.0), x / 100) for x in range(100, round(100 * gpus)))
    assert keys["X"].right == pytest.approx(best, abs=0.01)
    alone = mixed_bytes(tokens, gpus, gpus, inner, 1.0)
    assert keys["gain"].right == pytest.approx(alone / least, rel=1e-5)


def gpipe_with_a_slow_stage(stages: int, microbatches: int, slow: int, extra: float) -> float:
    """The time of a step; a micro-batch takes 1 on every stage but *slow*, a third of it forward."""
    free, ends = [0.0] * stages, list[float]()
    paces = [1 + extra if stage == slow else 1.0 for stage in range(stages)]
    for _ in range(microbatches):
        arrived = 0.0
        for stage in range(stages):
            arrived = free[stage] = max(free[stage], arrived) + paces[stage] / 3
        ends.append(arrived)
    for arrived in ends:
        for stage in reversed(range(stages)):
            arrived = free[stage] = max(free[stage], arrived) + paces[stage] * 2 / 3
    return max(free)


@each(("stages", "microbatches", "slow", "extra"), [(4, 8, 1, 0.3), (4, 8, 0, 0.2), (4, 16, 3, 0.5), (6, 12, 2, 0.1)])
def test_a_slow_stage_makes_the_others_idle_for_what_the_exercise_says(
    stages: int, microbatches: int, slow: int, extra: float
) -> None:
    name = "pipelines/derive-the-fraction"
    exercise = next(one for one in TOPICS["pipelines"].exercises if one.id == name)
    assert isinstance(exercise, Expression)
    given = {"p": Quantity(stages), "m": Quantity(microbatches), "x": Quantity(extra)}
    played = gpipe_with_a_slow_stage(stages, microbatches, slow, extra)
    assert evaluate(exercise.answer, given).value == pytest.approx(1 - microbatches / played)
