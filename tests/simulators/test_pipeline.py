import pytest

from app.core.simulators.pipeline import (
    SCHEDULES,
    PipelineSchedule,
    SimulatedSchedule,
    Slot,
    Times,
    build,
    simulate_schedule,
)
from tests.each import each
from tests.oracles.pipeline import violations

UNEVEN = Times(3, 5, 2, 0.25)


def supported(name: str, p: int, m: int, virtual: int = 1) -> PipelineSchedule | None:
    try:
        return build(name, p, m, virtual)
    except ValueError:
        return None


@pytest.mark.slow(40)
@pytest.mark.sweep
@each("name", SCHEDULES)
@each("stages", range(1, 17))
def test_every_schedule_up_to_16_stages_and_64_microbatches_is_legal(name: str, stages: int) -> None:
    chunks = (1, 2, 3) if name == "interleaved" else (1,)
    known = [s for m in range(1, 65) for v in chunks if (s := supported(name, stages, m, v))]
    assert known or name == "dualpipe"
    for schedule in known:
        assert violations(simulate_schedule(schedule, UNEVEN)) == []


@each("name", SCHEDULES)
def test_no_device_works_less_or_more_than_its_work(name: str) -> None:
    played = simulate_schedule(build(name, 4, 12), UNEVEN)
    for own in played.slots:
        worked = sum(slot.end - slot.start for slot in own)
        assert worked == pytest.approx(12 * UNEVEN.work, rel=1e-12)


@each("name", SCHEDULES)
def test_only_passes_that_leave_a_device_are_sent(name: str) -> None:
    played = simulate_schedule(build(name, 4, 12), UNEVEN)
    moves = sum(
        played.schedule.device_of(m, stage) != played.schedule.device_of(m, stage + 1)
        for m in range(12)
        for stage in range(played.schedule.depth - 1)
    )
    assert sum(played.sends) == 2 * moves


def test_the_order_of_the_second_of_three_stages_under_1f1b() -> None:
    own = simulate_schedule(build("1f1b", 3, 4), Times(1, 1, 1)).slots[1]
    assert [f"{s.kind}{s.microbatch}" for s in own] == ["F0", "F1", "B0", "F2", "B1", "F3", "B2", "B3"]


@each(
    ("name", "virtual", "total", "in_flight"),
    [
        ("naive", 1, 144, (1, 1, 1, 1)),
        ("gpipe", 1, 45, (12, 12, 12, 12)),
        ("1f1b", 1, 45, (4, 3, 2, 1)),
        ("interleaved", 2, 40.5, (5.5, 4.5, 3.5, 2.5)),
        ("interleaved", 4, 38.25, (4.75, 4.25, 3.75, 3.25)),
    ],
)
def test_a_pipeline_of_four_stages_and_twelve_microbatches(
    name: str, virtual: int, total: float, in_flight: tuple[float, ...]
) -> None:
    played = simulate_schedule(build(name, 4, 12, virtual), Times(1, 1, 1))
    assert played.step_time == total
    assert played.ideal_time == 36
    assert played.in_flight == in_flight


def moved(played: SimulatedSchedule, which: int, by: float) -> SimulatedSchedule:
    """*played* with one slot of the second device at another time."""
    own = list(played.slots[1])
    slot = own[which]
    own[which] = slot._replace(start=slot.start + by, end=slot.end + by)
    return SimulatedSchedule(played.schedule, played.times, (played.slots[0], tuple(own)), played.sends)


def replaced(played: SimulatedSchedule, which: int, **changed: object) -> SimulatedSchedule:
    own = list(played.slots[1])
    own[which] = own[which]._replace(**changed)  # type: ignore[arg-type]
    return SimulatedSchedule(played.schedule, played.times, (played.slots[0], tuple(own)), played.sends)


PLAYED = simulate_schedule(build("1f1b", 2, 3), Times(1, 1, 1, 0.5))


@each(
    ("broken", "says"),
    [
        (moved(PLAYED, 0, -0.4), "F0 of stage 1 on device 1 starts before F0 of stage 0 on device 0 has arrived"),
        (moved(PLAYED, 2, -1.0), "F1 of stage 1 on device 1 starts before B0 of stage 1 on device 1 ends"),
        (replaced(PLAYED, 1, kind="F"), "passes stage 1 with ['F', 'F']"),
        (replaced(PLAYED, 1, microbatch=7), "B7 of stage 1 on device 1 is not where its forward pass was"),
        (replaced(PLAYED, 0, stage=9), "micro-batch 0 has no stage 9"),
    ],
)
def test_the_checker_finds_what_is_wrong(broken: SimulatedSchedule, says: str) -> None:
    assert any(says in violation for violation in violations(broken))


def test_a_legal_schedule_stays_legal_when_a_device_idles_longer_at_its_end() -> None:
    assert violations(moved(PLAYED, -1, 0)) == []
    assert isinstance(PLAYED.slots[0][0], Slot)


@each(
    ("arguments", "says"),
    [
        (("1f1bb", 4, 8), r"schedule must be one of naive, .*did you mean '1f1b'\?"),
        (("1f1b", 0, 8), "stages must be at least 1, not 0"),
        (("1f1b", 4, -1), "microbatches must be at least 1, not -1"),
        (("interleaved", 4, 6, 2), "microbatches must be a multiple of the stages, 4"),
        (("gpipe", 4, 8, 2), "virtual must be 1 for gpipe, not 2"),
        (("dualpipe", 3, 8), "stages must be even for dualpipe, not 3"),
        (("dualpipe", 4, 9), "microbatches must be even for dualpipe, not 9"),
        (("dualpipe_v", 4, 7), "microbatches must be at least twice the stages, 8"),
        (("1f1b", 10**6, 10**6), "must be at most 4,000,000 for a simulation"),
    ],
)
def test_what_does_not_exist_is_refused_by_name(arguments: tuple[str, int, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        build(*arguments)
