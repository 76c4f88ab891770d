"""Figures beside a test of nccl-tests, the tolls of a trace, and what can be saved, as plain values."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import InputError, NotFoundError
from app.core.measurements.pieces import Comparison
from app.core.measurements.published import SAMPLES, published_tests
from app.core.measurements.reports import AlphaBetaPiece, CollectiveTest, SizeRow, UnreadFile
from app.core.measurements.trace.activity import COMPUTE
from app.core.measurements.trace.reader import read_trace
from app.core.measurements.trace.report import Kernel, KindOfCollective, TraceReport
from app.server.db.measurements import MeasurementRow
from app.site import Site
from app.site.web.measured.figures import FAMILIES, bandwidth_points, family, figures_of_test, neighbors, thin_rows
from app.site.web.measured.saved_measurement import _saved_measurement_row as row_of_form
from app.site.web.measured.saved_measurement import save_offer, view_of_row
from app.site.web.measured.trace_view import PredictedTolls, predicted_tolls, tolls_per_step, trace_view
from tests.each import each


def row(size: float, busbw: float = 1e9, time: float = 1e-3) -> SizeRow:
    return SizeRow(size=size, time=time, algbw=busbw, busbw=busbw, rounding=0.0)


def table(rows: list[SizeRow] | None = None, **changes: Any) -> CollectiveTest:
    given = {
        "collective": "all_reduce", "ranks": 8, "hosts": 1, "hardware": "NVIDIA H100", "pieces": (), "doubts": (),
        "rows": tuple([row(1024.0), row(4096.0, 2e9)] if rows is None else rows),
    }  # fmt: skip
    return CollectiveTest(**{**given, **changes})


@each(("count", "drawn"), [(0, 0), (1, 1), (40, 40), (41, 21), (80, 40), (81, 27)])
def test_a_curve_has_at_most_forty_points_the_largest_size_among_them(count: int, drawn: int) -> None:
    rows = [row(float(size)) for size in range(count, 0, -1)]
    found = thin_rows(rows)
    assert len(found) == drawn
    assert [one.size for one in found] == sorted(one.size for one in found)
    assert not found or found[-1].size == count


def test_a_bandwidth_that_is_printed_as_nothing_is_not_drawn() -> None:
    assert bandwidth_points(table([row(8.0, 0.0), row(16.0, 3.0)])) == ((16.0, 3.0),)
    assert list(figures_of_test(table([row(8.0, 0.0)]), None, [])) == []


def test_a_test_is_drawn_beside_others_the_wire_and_the_lines_that_fit() -> None:
    (plot,) = figures_of_test(table(), None, [])
    assert [one.name for one in plot.series] == ["this run"]
    beside = neighbors(table())
    wire: Any = Comparison.__new__(Comparison)
    object.__setattr__(wire, "wire", 450e9)
    (plot,) = figures_of_test(table(), wire, beside)
    assert [one.name for one in plot.series] == ["this run", *(one.name for one in beside), "wire"]
    assert plot.series[-1].points == ((1024.0, 450e9), (4096.0, 450e9))
    (alone,) = figures_of_test(table([row(1024.0)]), wire, [])
    assert alone.series[-1].points == ((1024.0, 450e9), (2048.0, 450e9))
    pieces = (AlphaBetaPiece(1024.0, 4096.0, 1e-3, 1e9), AlphaBetaPiece(4096.0, 8192.0, 0.0, 1e9))
    for count, names in ((1, ["measured", "line"]), (2, ["measured", "line 1", "line 2"])):
        _, times = figures_of_test(table(pieces=pieces[:count]), None, [])
        assert [one.name for one in times.series] == names
    line = times.series[1].points
    assert [size for size, _ in line] == pytest.approx([1024, 2048, 4096])
    assert line[0][1] == pytest.approx(1e-3 + 1024 / 1e9)


@each(
    ("hardware", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("GB200 NVL72", "GB200"),
        ("GH200 480GB", "GH200"),
        ("8 x B200", "B200"),
        ("", ""),
        ("V100", ""),
    ],
)
def test_the_family_of_a_gpu_is_in_its_name(hardware: str, name: str) -> None:
    assert family(hardware) == name
    assert len(set(FAMILIES)) == len(FAMILIES)


def test_published_tests_beside_one_are_of_the_same_collective_on_the_same_gpu_first() -> None:
    for one in published_tests().values():
        if not isinstance(one.report, CollectiveTest):
            continue
        found = neighbors(one.report, one.name)
        assert len(found) <= 3
        assert one.name not in [other.name for other in found]
        reports = [other.report for other in found if isinstance(other.report, CollectiveTest)]
        assert len(reports) == len(found)
        assert {other.collective for other in reports} <= {one.report.collective}
        own = [family(other.hardware) == family(one.report.hardware) for other in found]
        assert own == sorted(own, reverse=True)
        ranks = [other.ranks or 1 for other, same in zip(reports, own, strict=True) if same]
        far = [abs(math.log(count / (one.report.ranks or 1))) for count in ranks]
        assert far == sorted(far)
    assert neighbors(table(collective="none")) == []


TRACE = read_trace([SAMPLES[1].path])[0]
assert isinstance(TRACE, TraceReport)


def view(report: TraceReport, beside: PredictedTolls | None = None) -> Any:
    return trace_view(report, "Title", beside)


def test_the_tolls_of_a_trace_add_up_to_a_step() -> None:
    tolls = tolls_per_step(TRACE)
    assert sum(tolls.values()) == pytest.approx(TRACE.tolls.wall / TRACE.steps, rel=1e-6)
    whole = tolls_per_step(replace(TRACE, steps=0))
    assert sum(whole.values()) == pytest.approx(TRACE.tolls.wall, rel=1e-6)
    skewed = tolls_per_step(replace(TRACE, exposed_skew=TRACE.tolls.exposed_communication))
    assert skewed["exposed communication"] == pytest.approx(0)
    assert skewed["bubble and skew"] == pytest.approx(
        tolls["bubble and skew"] + (TRACE.tolls.exposed_communication) / TRACE.steps - TRACE.exposed_skew / TRACE.steps
    )


def test_the_facts_of_a_trace_are_those_that_are_known() -> None:
    report = replace(TRACE, rank=3, world=8, ranks=2, last=(5, 70), hardware="NVIDIA H100", steps=2)
    facts = dict(view(report).facts)
    assert (facts["Rank"], facts["Ranks compared"], facts["Whole steps"]) == ("3 of 8", "2", "2")
    assert facts["Arrives last"] == "rank 5, 70 % of the time"
    assert "Step" in facts
    fewer = dict(view(replace(report, rank=0, world=None, ranks=1, last=None, hardware="", steps=0)).facts)
    assert fewer["Rank"] == "0"
    assert not {"Ranks compared", "Arrives last", "GPU", "Step"} & set(fewer)
    assert "Rank" not in dict(view(replace(report, rank=None)).facts)


def test_a_single_rank_waits_and_has_no_bubble() -> None:
    alone = replace(TRACE, world=1, ranks=1, collectives=())
    assert "waiting of the GPU" in [one[0] for one in view(alone).tolls]
    foreseen = PredictedTolls({}, {"compute": 1.0, "bubble and skew": 1.0})
    assert "bubble and skew" in [one[0] for one in view(alone, foreseen).tolls]
    assert "bubble and skew" in [one[0] for one in view(replace(alone, world=2)).tolls]


def test_tolls_stand_beside_those_that_are_predicted() -> None:
    header, *_, last = view(TRACE).tolls
    assert (header[-1], len(last)) == ("Share", 3)
    header, *_, last = view(TRACE, PredictedTolls({}, {"compute": 1.0, "host stalls": 0.5})).tolls
    assert (header[-1], last[-1]) == ("Predicted", "1.5 s")
    assert view(TRACE, PredictedTolls({}, {}, "no model")).problem == "no model"


@each("given", [{}, {"model": " "}, {"other": "x"}])
def test_nothing_is_predicted_where_nothing_was_given(given: dict[str, str]) -> None:
    assert predicted_tolls(given) is None


def test_what_cannot_be_predicted_says_why() -> None:
    found = predicted_tolls({"model": "Llama-3.1-8B"})
    assert found
    assert (found.tolls, bool(found.problem)) == ({}, True)
    assert found.given["model"] == "Llama-3.1-8B"


def test_collectives_are_beside_the_wire_and_one_rank_says_at_least() -> None:
    one = KindOfCollective(kind="all_reduce", count=1200, size=2**20, time=0.5, bandwidth=1e9, ranks=8)
    many = view(replace(TRACE, collectives=(one, replace(one, size=0, bandwidth=None)), ranks=2)).collectives
    assert many[0][:3] == ("all_reduce", "1,200", "1 MiB")
    assert many[0][4] == "1 GB/s"
    assert many[1][2:] == ("unknown", "500 ms", "unknown", "unknown")
    assert view(replace(TRACE, collectives=(one,), ranks=1)).collectives[0][4] == "at least 1 GB/s"


def test_the_dozen_kernels_that_take_the_most_time_are_shown() -> None:
    kernels = tuple(Kernel(f"k{number}", COMPUTE, 1, 1.0) for number in range(13))
    found = view(replace(TRACE, kernels=kernels)).kernels
    assert [one[0] for one in found] == [f"k{number}" for number in range(12)]
    assert found[0][1] == "computes"


def test_what_was_read_is_offered_with_a_seal_and_a_title(site: Site) -> None:
    made = view(TRACE)
    offer = save_offer(site, replace(TRACE, rank=None), made, {"model": "Llama-3.1-8B", "other": "x", "cluster": ""})
    assert (offer.title, bool(offer.seal)) == ("Trace", True)
    assert save_offer(site, replace(TRACE, rank=0), made, {}).title == "Trace of rank 0"
    row = row_of_form(site, offer.seal, "", "grace")
    assert (row.title, row.learner, json.loads(row.given)) == ("Trace", "grace", {"model": "Llama-3.1-8B"})
    assert row_of_form(site, offer.seal, " Mine\x07 ", "grace").title == "Mine"
    assert row_of_form(site, offer.seal, "t" * 999, "grace").title == "t" * len(
        row_of_form(site, offer.seal, "t" * 999, "g").title
    )
    assert row_of_form(site, offer.seal, "", "grace").name == row.name, "the same page is saved once"
    assert view_of_row(row)
    again = save_offer(site, TRACE, made, {})
    assert row_of_form(site, again.seal, "", "grace").name != row.name
    unread = save_offer(site, UnreadFile.__new__(UnreadFile), made, {})
    assert (unread.title, unread.seal) == ("", "")
    for seal in ("", "x", offer.seal + "x"):
        with pytest.raises(InputError, match="more than a day old, or was changed"):
            row_of_form(site, seal, "", "grace")


@each("changes", [{"report": "{}"}, {"given": "[]"}, {"given": "x"}, {"given": '{"cluster": "none"}'}])
def test_a_row_that_this_version_cannot_show_is_told(changes: dict[str, str]) -> None:
    texts = {"report": "{}", "given": "{}", **changes}
    row = MeasurementRow(name="n", learner="l", title="t", report=texts["report"], given=texts["given"])
    with pytest.raises(NotFoundError, match="cannot be shown by this version"):
        view_of_row(row)


def test_the_largest_toll_is_told_and_what_to_try_first() -> None:
    said = view(TRACE).says
    tolls = tolls_per_step(TRACE)
    largest = max((name for name in tolls if name != "compute"), key=lambda name: tolls[name])
    assert f"The largest toll is {largest}: " in said
    assert said.startswith("The GPU computes in ")
    assert " of a step." in said
    assert " of the time" in view(replace(TRACE, steps=0)).says
