"""A trace on a terminal: its tolls, its collectives and what to try."""

from collections.abc import Iterator

from app.core.measurements.trace.advice import levers
from app.core.measurements.trace.report import KindOfCollective, TraceReport
from app.core.units import BYTE_PER_SECOND, SECOND, show, show_size


def trace_lines(report: TraceReport) -> Iterator[str]:
    """The report in lines."""
    wall = report.tolls.wall
    yield f"trace of {_whose(report)}, {_steps(report)} in {show(wall, SECOND)}"
    for name, time in _tolls(report):
        yield f"  {name:<26}{show(time, SECOND, 3):>10}{100 * time / (wall or 1):8.1f} %"
    communication = report.tolls.communication
    if communication:
        hidden = 100 * report.tolls.overlapped_communication / communication
        yield f"  communication {show(communication, SECOND, 3)}, of which {hidden:.1f} % is hidden"
    for one in report.collectives:
        yield f"  {_collective(one, at_least=report.ranks == 1)}"
    for lever in levers(report)[:1]:
        yield f"  try first, for at most {show(lever.saves, SECOND, 3)}: {lever.says}"


def _whose(report: TraceReport) -> str:
    rank = "one rank" if report.rank is None else f"rank {report.rank}"
    of = f" of {report.world:,}" if report.world else ""
    on = f" on {report.hardware}" if report.hardware else ""
    return f"{rank}{of}{on}"


def _steps(report: TraceReport) -> str:
    return f"{report.steps:,} {'step' if report.steps == 1 else 'steps'}"


def _tolls(report: TraceReport) -> Iterator[tuple[str, float]]:
    tolls = report.tolls
    yield "compute", tolls.compute
    yield "exposed communication", tolls.exposed_communication - report.exposed_skew
    if report.last:
        yield "waiting for other ranks", report.exposed_skew
    yield "exposed copies", tolls.exposed_copies
    yield "host stalls", tolls.host
    yield f"waiting ({'streams' if report.alone else 'bubble, streams'})", tolls.waiting
    if tolls.unexplained:
        yield "idle, launch unknown", tolls.unexplained


def _collective(one: KindOfCollective, *, at_least: bool) -> str:
    size = f", {show_size(one.size)}" if one.size else ""
    rate = ""
    if one.bandwidth is not None:
        rate = f", busbw {'at least ' * at_least}{show(one.bandwidth, BYTE_PER_SECOND, 3)}"
    return f"{one.kind}: {one.count:,} in {show(one.time, SECOND, 3)}{size}{rate}"
