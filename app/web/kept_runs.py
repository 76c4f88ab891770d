"""Runs of labs, wherever they are kept: shipped, in the queue, or in the folder of this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from app.db.lab_runs import SENT, finished_runs, lab_run
from app.db.session import open_session
from app.db.tables import LabRunRow
from app.errors import NotFoundError, nearest
from app.labs import Report, Run, report_of
from app.labs.recording import own_runs, recorded
from app.labs.reporting import REPORT
from app.site import Site

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Kept:
    """A run: what it found so far, and its row if it came through the queue."""

    report: Report | None
    row: LabRunRow | None = None
    is_recorded: bool = False
    log: str = ""

    @property
    def state(self) -> str:
        """How far it is."""
        return self.row.state if self.row else self.report.state if self.report else "lost"

    @property
    def origin(self) -> str:
        """Where it was made."""
        if self.is_recorded:
            return "recorded"
        return SENT if self.row and self.row.host == SENT else "this server"

    @property
    def cause(self) -> str:
        """Why it ended, or what it waits for."""
        return self.row.says if self.row else self.report.cause if self.report else ""


def finished(site: Site, lab: str) -> Sequence[Kept]:
    """The runs of *lab* that came to their end: those of this server, then the recorded ones."""
    with open_session(site.engine) as session:
        rows = finished_runs(session, lab)
    found = {row.name: Kept(_read(row.report), row) for row in rows if row.report}
    for report in own_runs(site.settings.runs):
        if report.lab == lab:
            found.setdefault(report.id, Kept(report))
    here = [found[name] for name in sorted(found, reverse=True)]
    return [*here, *(Kept(one, is_recorded=True) for one in recorded() if one.lab == lab)]


def run_called(site: Site, lab: str, name: str) -> Kept:
    """One run, however far it is.

    Raises:
        NotFoundError: *lab* has none of that name.
    """
    row = lab_run(site.engine, name)
    if row and row.lab == lab:
        return Kept(_read(row.report) if row.report else None, row, log=row.log)
    known = {report.id: report for report in recorded() if report.lab == lab}
    if name in known:
        return Kept(known[name], is_recorded=True)
    folders = {path.parent.name: path.parent for path in site.settings.runs.glob("*/job.json")}
    if name in folders:
        run = Run(folders[name])
        report = report_of(run)
        if report.lab == lab:
            return Kept(report, log="" if report.state == "done" else run.log())
    near = nearest(name[:80], [*known, *folders])
    raise NotFoundError(f"{lab} has no run {name[:80]!r}{near}")


@lru_cache(maxsize=_REMEMBERED)
def _read(text: str) -> Report:
    return REPORT.validate_json(text)
