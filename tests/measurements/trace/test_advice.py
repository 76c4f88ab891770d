"""What a report of a trace suggests."""

from array import array
from dataclasses import replace

import pytest

from app.core.measurements.trace.activity import Tolls
from app.core.measurements.trace.communication import CollectiveCall, Skew
from app.core.measurements.trace.report import RankTrace, by_kind, doubts_of_ranks, levers, straggler
from tests.each import each
from tests.measurements.trace.made import collective, report_of_events, work

MICRO = 1e-6


def test_levers_are_what_a_step_could_save_at_most() -> None:
    report = report_of_events(
        work(0, 50, launched=-1),
        collective(40, 100),  # 10 hidden, 50 exposed, and 40 more could be
        work(130, 140, launched=120),  # 20 of the gap are the host's
        work(140, 160, "Memcpy HtoD", cat="gpu_memcpy", launched=1),
    )
    saved = {one.toll: one.saves / MICRO for one in levers(report)}
    assert saved == {
        "Exposed communication": pytest.approx(50),
        "Host stalls": pytest.approx(20),
        "Exposed copies": pytest.approx(20),
        "Waiting of the GPU": pytest.approx(10),
    }
    assert next(iter(saved)) == "Exposed communication"


def test_what_compute_cannot_hide_is_another_lever() -> None:
    report = report_of_events(work(0, 30, launched=-1), collective(20, 100))
    saved = {one.toll: one.saves / MICRO for one in levers(report)}
    assert saved["Exposed communication"] == pytest.approx(20)
    assert saved["Communication beyond compute"] == pytest.approx(50)


def call(kind: str, time: float, size: int | None = 1000, ranks: int = 4) -> CollectiveCall:
    return CollectiveCall(kind=kind, begin=0.0, time=time, size=size, ranks=ranks, group="")


def test_collectives_are_listed_by_their_time_with_the_bandwidth_of_the_largest_without_their_waits() -> None:
    calls = [
        call("broadcast", 1.0, size=None),
        call("all_reduce", 2.0, size=400),
        call("all_reduce", 4.0, size=1000),
        call("all_reduce", 6.0, size=1000),
        call("all_reduce", 1.0, size=500),  # half as large: not one of the largest
        call("all_reduce", 3.0, size=1000),  # waited for all of its time
    ]
    first, second = by_kind(calls, [0.0, 0.0, 2.0, 2.0, 0.0, 3.0])
    assert (first.kind, first.count, first.size, first.time, first.ranks) == ("all_reduce", 5, 3900, 16.0, 4)
    assert first.bandwidth == pytest.approx((1500 / 2 + 1500 / 4) / 2)  # 2 (n - 1) / n of a kilobyte
    assert (second.kind, second.count, second.size, second.bandwidth, second.ranks) == ("broadcast", 1, 0, None, 0)
    (alone,) = by_kind([call("all_reduce", 1.0, ranks=1)], [0.0])
    assert alone.bandwidth is None


def test_the_straggler_is_the_rank_that_arrives_last_most_often() -> None:
    assert straggler({0: 1, 1: 2}, 3, (8, 9)) == (9, 67)
    assert straggler({}, 0, (8, 9)) is None


def tolls_of(idle: float, host: float, unexplained: float = 0.0) -> Tolls:
    return Tolls(
        wall=1.0, compute=0.5, exposed_communication=0.2, overlapped_communication=0.1, exposed_copies=0.0, idle=idle,
        host=host, unexplained=unexplained,
    )  # fmt: skip


PLAIN = RankTrace(
    name="a", number=3, world=8, hardware="", steps=1, calls=(), kernels=(), computing=array("d"), doubts=(),
    tolls=tolls_of(0.2, 0.0),
)  # fmt: skip
SILENT = replace(PLAIN, tolls=replace(PLAIN.tolls, exposed_communication=0.0, overlapped_communication=0.0))


@each(
    ("rank", "compared", "skew", "kinds", "says"),
    [
        (PLAIN, 1, None, ("all_reduce",), "this is rank 3 of 8 alone"),
        (replace(PLAIN, number=None, world=None), 1, None, ("all_reduce",), "this is one rank alone"),
        (replace(PLAIN, world=1), 1, None, ("all_reduce",), ""),
        (PLAIN, 2, Skew([[], []], matched=1), ("all_reduce",), ""),
        (PLAIN, 2, Skew([[], []], matched=0), ("all_reduce",), "no collective is the same on all ranks"),
        (PLAIN, 2, Skew([[], []], unmatched={"b", "a"}), ("all_reduce",), "the ranks made different calls (a, b)"),
        (PLAIN, 2, Skew([[], []], matched=1), ("broadcast",), "does not say how many bytes were moved by broadcast"),
        (SILENT, 2, None, (), "the job has 8 ranks, but no kernel here is known to communicate"),
        (replace(SILENT, world=1), 1, None, (), ""),
        (PLAIN, 1, None, (), ""),
    ],
)
def test_what_the_ranks_do_not_tell_is_a_doubt(
    rank: RankTrace, compared: int, skew: Skew | None, kinds: tuple[str, ...], says: str
) -> None:
    calls = [call(kind, 1.0, size=None if kind == "broadcast" else 1000) for kind in kinds]
    found = list(doubts_of_ranks(rank, compared, skew, by_kind(calls, [0.0] * len(calls))))
    assert len(found) == bool(says)
    assert says in " ".join(found)


def test_a_lever_of_a_hundredth_of_the_time_is_not_worth_a_sentence() -> None:
    for idle, count in ((1, 0), (2, 1)):
        report = report_of_events(work(0, 100, launched=-1), work(100 + idle, 120 + idle, launched=100 + idle))
        assert len(levers(report)) == count


def test_communication_is_all_that_is_hidden_and_exposed_and_waiting_never_less_than_nothing() -> None:
    tolls = tolls_of(0.3, 0.1, 0.05)
    assert tolls.communication == pytest.approx(0.3)
    assert tolls.waiting == pytest.approx(0.15)
    assert replace(tolls, host=0.4).waiting == 0
