"""Runs of other machines, as `wallclock lab run --json` prints them: read, never trusted."""

import math
from collections.abc import Mapping
from dataclasses import replace

from pydantic import ValidationError

from app.errors import InputError, NotFoundError
from app.labs.matching import job_of
from app.labs.reading import Job
from app.labs.reporting import REPORT, Report, judged_anew

_WORDS = 200  # characters of what describes a machine
_GPUS = 1024
_MACHINE = ("processor", "cores", "memory_bytes", "load", "system", "python", "driver")


def read_sent(text: str) -> Report:
    """The run that *text* describes; all that follows from its samples is worked out anew.

    Raises:
        InputError: it is no finished run of a lab that is known here.
    """
    try:
        report = REPORT.validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, found["loc"])) or "the text"
        raise InputError(
            f"this is no run as `wallclock lab run ... --json` prints it: {where}: {found['msg']}"
        ) from None
    if report.state != "done":
        raise InputError(f"this run is {report.state}: only one that was done can be compared")
    if not report.checks or not all(report.checks.values()):
        raise InputError("this run has not found its data right, so its times say nothing")
    for one in report.measures:
        if not one.samples or not all(math.isfinite(x) and x >= 0 for x in one.samples):
            raise InputError(f"the samples of {one.name} are no measurements")
    if not report.measures:
        raise InputError("this run has measured nothing")
    try:
        job = _job_of(report)
        judged = judged_anew(report, job.ranks, job.values)
    except (NotFoundError, ValueError, KeyError) as error:
        raise InputError(f"this run cannot be read here: {error}") from None
    return replace(judged, machine=_described(report.machine), cause="", command=job.command)


def _job_of(report: Report) -> Job:
    job = job_of(report)
    if report.command != job.command:
        raise InputError(f"this run has no command of {report.lab[:60]}, so it cannot be repeated")
    if job.ranks != report.ranks:
        raise InputError(f"this run had {report.ranks} ranks, and its command {job.ranks}")
    return job


def _described(machine: Mapping[str, object]) -> Mapping[str, object]:
    """What is known of a machine, cut to a sensible length."""
    found: dict[str, object] = {
        name: value if isinstance(value, int | float) else str(value)[:_WORDS]
        for name in _MACHINE
        if (value := machine.get(name)) is not None
    }
    gpus = machine.get("gpus")
    names = [str(one)[:_WORDS] for one in gpus[:_GPUS]] if isinstance(gpus, list) else []
    return {**found, "gpus": names}
