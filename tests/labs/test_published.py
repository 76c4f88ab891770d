"""Runs of nccl-tests that others published, analyzed as if they were runs of the all-reduce lab."""

import json
from collections.abc import Mapping
from decimal import Decimal
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from app.core.charts.plot import Plot
from app.core.formulas.collectives import bus_bandwidth
from app.labs.machines.machine import MachineFacts, datasheet_of
from app.labs.results.analysis import analyze_report
from app.labs.results.report import Measure, Report
from app.labs.spec import lab_called
from app.server.db.run_state import RunState
from app.site.web.labs.tables import lab_figures
from tests.each import each
from tests.labs.gpus import H100
from tests.tables import HERE, Row, rows

NAME = "nccl_tests_runs"
RUNS: Mapping[str, Mapping[str, Any]] = {
    run["run"]: run for run in json.loads((HERE / f"{NAME}.json").read_text())["runs"]
}
OURS = [2.0**power for power in range(13, 35, 2)]  # 8KiB..8GiB
MICRO, GIGA = 1e-6, 1e9


def seconds(row: Row) -> float:
    return row.number("time") * MICRO


def measure(name: str, samples: tuple[float, ...], **where: float) -> Measure:
    return Measure(
        name=name, where=where, count=len(samples), least=0.0, median=0.0, p90=0.0,
        samples=samples, predicted=None, ratio=None, right=None, derived={},
    )  # fmt: skip


def report(
    lab: str,
    measures: tuple[Measure, ...],
    *,
    gpu: str = "NVIDIA H100 80GB HBM3",
    ranks: int = 8,
    nodes: int | None = None,
    backend: str = "nccl",
    given: Mapping[str, str] | None = None,
    details: Mapping[str, str] | None = None,
) -> Report:
    empty = Report(
        id="a", lab=lab, state=RunState.DONE, cause="", seconds=1.0, at="", command="", ranks=ranks,
        world=ranks, backend=backend, links="real", versions={}, checks={"sums": True}, line=None,
        machine=MachineFacts(gpus=(gpu,), nodes=nodes), measures=measures, notes=(),
        details=details or {},
    )  # fmt: skip
    form = lab_called(lab).run_over(backend)
    texts = {**form.starts, **(given or {})}
    values = {name: one.read(name, texts[name]) for name, one in form.parameters.items()}
    return analyze_report(empty, ranks, values)


def published(run: str, sizes: list[float] | None = None, **more: Any) -> Report:
    """*run* as a report of the all-reduce lab."""
    about = RUNS[run]
    measures = tuple(
        measure("time", (seconds(row),), size=row.number("size"))
        for row in rows(NAME)
        if row.text("run") == run and (sizes is None or row.number("size") in sizes)
    )
    return report(
        "all-reduce", measures, gpu=about["gpu"], ranks=about["ranks"], nodes=about["nodes"],
        given={"operation": about["collective"]}, **more,
    )  # fmt: skip


@each("row", rows(NAME), ids=lambda row: f"{row.text('run')}, {row.text('size')} B")
def test_our_bus_bandwidth_is_that_of_nccl_tests_to_the_digit(row: Row) -> None:
    """It printed both from a time with more digits, which lies within half of the last one."""
    about, time = RUNS[row.text("run")], Decimal(row.text("time"))
    half = Decimal(1).scaleb(int(time.as_tuple().exponent)) / 2
    high, low = (
        bus_bandwidth(about["collective"], row.number("size"), about["ranks"], float(one) * MICRO)
        for one in (time - half, time + half)
    )
    printed = row.number("busbw")
    assert low / GIGA - 0.005 <= printed * (1 + 1e-12)
    assert printed <= high / GIGA + 0.005


def test_a_report_derives_the_same_and_its_share_of_the_wire() -> None:
    found = published("8 H100").measures
    printed = [row.number("busbw") for row in rows(NAME) if row.text("run") == "8 H100"]
    for one, busbw in zip(found, printed, strict=True):
        assert one.derived["bus bandwidth"].value == pytest.approx(busbw * GIGA, rel=0.01, abs=6e6)
        share = one.derived["share of the wire"].value
        assert share == pytest.approx(one.derived["bus bandwidth"].value / 450e9)
    assert found[-1].derived["share of the wire"].shown == "1.073"  # the switch adds


def relative_line(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Latency and bandwidth by NumPy's least squares of relative errors."""
    rows = np.array([(1 / time, size / time) for size, time in points])
    (latency, slope), *_ = np.linalg.lstsq(rows, np.ones(len(points)))
    return float(latency), float(1 / slope)


def test_two_lines_fit_where_one_does_not() -> None:
    """8 H100 take 16.85 us for 8 KiB, and reach 480 GB/s with 8 GiB."""
    found = published("8 H100", OURS)
    points = [(float(one.where["size"]), one.median) for one in found.measures]
    assert found.line is None
    assert [(one.least, one.most) for one in found.lines] == [(2.0**13, 2.0**21), (2.0**23, 2.0**33)]
    for line in found.lines:
        inside = [point for point in points if line.least <= point[0] <= line.most]
        assert (line.latency, line.bandwidth) == pytest.approx(relative_line(inside))
    assert found.lines[0].latency == pytest.approx(16.85e-6, rel=0.05)
    assert 1.75 * found.lines[1].bandwidth == pytest.approx(480e9, rel=0.07)
    latency, bandwidth = relative_line(points)
    one = fmean(((latency + size / bandwidth) / time - 1) ** 2 for size, time in points)
    two = fmean(
        (line.at(size) / time - 1) ** 2
        for line in found.lines
        for size, time in points
        if line.least <= size <= line.most
    )
    assert two < one / 4  # half the error
    assert [note for note in found.notes if "best fit" in note] == [
        "From 8 KiB to 2 MiB, the best fit to the medians is 17.19 µs [14.64 µs, 19.74 µs] + size / "
        "86.14 GB/s [60 GB/s, 152.7 GB/s], with a median error of 4.4 %.",
        "From 8 MiB to 8 GiB, the best fit to the medians is 54.49 µs [42.16 µs, 66.82 µs] + size / "
        "257.2 GB/s [238.9 GB/s, 278.5 GB/s], with a median error of 3.1 %.",
    ]


@each("backend", ["gloo", "nccl"])
def test_where_one_line_fits_there_is_one(backend: str) -> None:
    measures = tuple(measure("time", (1e-4 + s / 1e9,), size=s) for s in OURS)
    found = report("all-reduce", measures, backend=backend, ranks=2)
    assert found.lines == ()
    assert found.line is not None
    assert found.line.bandwidth == pytest.approx(1e9)
    assert found.line.latency == pytest.approx(1e-4)
    assert (found.line.least, found.line.most) == (OURS[0], OURS[-1])
    assert not any("best fit" in note for note in found.notes)


def test_three_lines_are_found_again_and_drawn() -> None:
    times = [s / 1e10 + 5e-6 if s < 2e5 else s / 5e10 + 9e-5 if s < 1e8 else s / 4e11 + 8e-3 for s in OURS]
    measures = tuple(measure("time", (t,), size=s) for s, t in zip(OURS, times, strict=True))
    found = report("all-reduce", measures)
    assert [line.bandwidth for line in found.lines] == pytest.approx([1e10, 5e10, 4e11])
    (figure,) = lab_figures(lab_called("all-reduce").on("nccl"), found)
    assert isinstance(figure, Plot)
    (fitted,) = [one for one in figure.series if one.name == "fit"]
    assert [time for _, time in fitted.points] == pytest.approx(times)


@each("run", ["8 H100, one size"])
def test_too_few_sizes_determine_no_line(run: str) -> None:
    assert (published(run).line, published(run).lines) == (None, ())


def test_the_wire_is_nvlink_only_where_nccl_used_it() -> None:
    def has_share(run: str, **details: str) -> bool:
        last = published(run, details=details).measures[-1]
        return "share of the wire" in last.derived

    assert has_share("8 H100")
    assert has_share("8 H100", transport="NVLS, P2P/CUMEM")
    assert not has_share("8 H100", transport="SHM/direct")
    assert not has_share("2 nodes of 8 H100")
    assert not has_share("2 nodes of 8 H100", transport="NET/Libfabric/GDRDMA, P2P/CUMEM")
    assert has_share("72 GB200", transport="NVLS, P2P/MNNVL")
    assert not has_share("2 nodes of 8 MI300X")


@each(
    ("links", "is_nvlink"),
    [(("X NV18", "NV18 X"), True), (("X NODE", "NODE X"), False), (("X NV12 SYS", "NV12 X SYS", "SYS SYS X"), False)],
)
def test_p2p_over_pcie_is_not_nvlink(links: tuple[str, ...], is_nvlink: bool) -> None:
    rows = [f"GPU{n}\t{row}\tSYS 0-31 0" for n, row in enumerate(links)]
    topology = "\n".join(["\tGPU0\tGPU1\tCPU Affinity", *rows, "NIC0\tSYS PIX"])
    machine = MachineFacts(gpus=(H100,) * len(links), topology=topology)
    found = datasheet_of(lab_called("all-reduce").on("nccl"), "nccl", machine, "P2P/CUMEM")
    assert ("gpu_wire" in found.names) is is_nvlink


def test_a_gpu_without_a_datasheet_is_said_to_have_none() -> None:
    says = "There is no datasheet of {} here: no share of a peak is shown."
    for gpu in ("NVIDIA GeForce RTX 4090", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"):
        found = report("matrix-product", (measure("time", (1e-3,), side=8192.0),), gpu=gpu, ranks=1)
        assert found.notes == (says.format(gpu),)
        assert list(found.measures[0].derived) == ["rate"]
    alone = report("matrix-product", (), gpu="NVIDIA H200", ranks=1)
    assert alone.notes == ()


@each(("form", "share"), [("bf16", 1.112), ("fp16", 1.112), ("fp8", 0.556), ("fp32", None), ("tf32", None)])
def test_the_share_of_the_peak_is_that_of_the_format(form: str, share: float | None) -> None:
    one = measure("time", (1e-3,), side=8192.0)
    (found,) = report("matrix-product", (one,), ranks=1, given={"format": form}).measures
    assert found.derived["rate"].value == pytest.approx(2 * 8192**3 / 1e-3)
    assert ("share of the peak" in found.derived) == (share is not None)
    if share is not None:
        assert found.derived["share of the peak"].value == pytest.approx(share, rel=1e-3)


@each(("source", "passes"), [("device", 2), ("pinned", 1), ("pageable", 1)])
def test_a_copy_within_the_hbm_moves_every_byte_twice(source: str, passes: int) -> None:
    one = measure("time", (1e-3,), size=2.0**30)
    (found,) = report("memory-copy", (one,), ranks=1, given={"source": source}).measures
    assert found.derived["bandwidth"].value == pytest.approx(passes * 2**30 / 1e-3)
    assert ("share of the HBM" in found.derived) == (source == "device")


def test_samples_of_both_ways_are_kept_apart() -> None:
    both = (measure("time", (1e-5,), size=8192.0), measure("time with launch", (9e-5,), size=8192.0))
    found = report("all-reduce", both)
    assert [list(one.derived) for one in found.measures] == [["bus bandwidth", "share of the wire"], []]
