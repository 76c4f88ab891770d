"""Lab runs, wherever they are stored: shipped, in the queue, or in this machine's folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import ValidationError
from sqlalchemy import Engine

from app.core.errors import InputError, NotFoundError, nearest
from app.core.translation import translate
from app.labs.results.analysis import read_report, report_of, shipped_runs
from app.labs.results.report import Report
from app.labs.run import LabRun
from app.server.db.lab_runs import REPORT_LIMIT, SENT, finished_runs, lab_run, report_text
from app.server.db.run_state import RunState
from app.server.db.session import open_session
from app.server.db.tables import LabRunRow
from app.site import Site
from app.site.labs.match import own_runs
from app.site.labs.upload import read_sent

_CACHED = 1024  # reports without their samples: usually 10 kB each, 300 kB at most
_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run: its report so far, and its row if it came through the queue."""

    report: Report | None
    row: LabRunRow | None = None
    is_recorded: bool = False
    log: str = ""

    @property
    def state(self) -> RunState:
        """Its state."""
        return self.row.state if self.row else self.report.state if self.report else RunState.LOST

    @property
    def origin(self) -> str:
        """Where it comes from."""
        if self.is_recorded:
            return "recorded"
        return SENT if self.row and self.row.host == SENT else "this server"

    @property
    def cause(self) -> str:
        """Why it failed, or what it waits for."""
        return self.row.says if self.row else self.report.cause if self.report else ""


def list_finished_runs(site: Site, lab: str) -> Sequence[RunResult]:
    """The finished runs of *lab*, without samples: this server's, then the recorded ones."""
    with open_session(site.engine) as session:
        rows = finished_runs(session, lab)
    reports = ((row, _light(site.engine, row.name, row.host)) for row in rows)
    found = {row.name: RunResult(report, row) for row, report in reports if report}
    for report in own_runs(site.settings.runs):
        if report.lab == lab:
            found.setdefault(report.id, RunResult(report))
    here = [found[name] for name in sorted(found, reverse=True)]
    return [*here, *(RunResult(one, is_recorded=True) for one in shipped_runs() if one.lab == lab)]


def run_called(site: Site, lab: str, name: str) -> RunResult:
    """One run, whatever its state.

    Raises:
        NotFoundError: *lab* has no run of that name.
    """
    row = lab_run(site.engine, name) if _NAME.fullmatch(name) else None
    if row and row.lab == lab:
        report = _report(row.report if len(row.report) <= REPORT_LIMIT else "", row.host)
        if report is None and row.host == SENT:
            raise NotFoundError(translate("run {name} was sent in, and cannot be shown here", name=name))
        return RunResult(report, row, log=row.log)
    known = {report.id: report for report in shipped_runs() if report.lab == lab}
    if name in known:
        return RunResult(known[name], is_recorded=True)
    folders = {path.parent.name: path.parent for path in site.settings.runs.glob("*/job.json")}
    if name in folders:
        run = LabRun(folders[name])
        report = report_of(run)
        if report.lab == lab:
            return RunResult(report, log="" if report.state is RunState.DONE else run.log())
    near = nearest(name[:80], [*known, *folders])
    raise NotFoundError(translate("{lab} has no run {name!r}{near}", lab=lab, name=name[:80], near=near))


@lru_cache(maxsize=_CACHED)
def _light(engine: Engine, name: str, host: str) -> Report | None:
    """The report of a finished run, which no longer changes, without its samples."""
    report = _report(report_text(engine, name), host)
    return report.without_samples() if report else None


def _report(text: str, host: str) -> Report | None:
    """The stored report; None if there is none, or it cannot be shown.

    Runs that were sent in are checked against today's limits, and analyzed with today's formulas.
    """
    try:
        return read_sent(text) if host == SENT else read_report(text) if text else None
    except (InputError, ValidationError):
        return None


def report_called(site: Site, lab: str, run: str) -> Report:
    """What the run with this name has measured.

    Raises:
        NotFoundError: the run does not exist, or has not measured anything.
    """
    report = run_called(site, lab, run).report
    if report is None:
        raise NotFoundError(translate("this run has not measured anything"))
    return report
