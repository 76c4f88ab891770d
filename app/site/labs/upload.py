"""Runs of other machines, as `wallclock lab run --json` prints them: read, but never trusted.

Only the fields listed here are read, each within a limit; whatever follows from the samples is
computed again. The same limits apply to runs that are already in the database.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from datetime import datetime
from typing import Annotated, Any, Literal

import pydantic
from pydantic_core import CoreSchema, core_schema

from app.core.errors import InputError, NotFoundError, input_error
from app.core.formulas.presets import GPUS, Gpu
from app.core.translation import translate
from app.core.units import BYTE_PER_SECOND, FLOP_PER_SECOND, RATIO, Unit, parse, scale_of, show
from app.core.validation import SENTENCES, problems_of
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import analyze_report
from app.labs.results.report import WHAT_TO_DO, Measure, Report
from app.labs.spec import MOST_RANKS, LabJob, lab_called, parameters_in, read_job
from app.server.db.lab_runs import SENT
from app.server.db.run_state import RunState
from app.server.db.tables import LabRunRow
from app.site.labs.words import localized_note

FILE_LIMIT = 256 * 1024  # bytes of a run: four times what the longest run of ours prints
MOST_RUNS = 20  # in a file
_WORDS = 200  # characters of a text
_NAME = 60  # characters of a name
_COMMAND = 2000  # characters
_SAMPLES, _MEASURES, _PLACES = 2000, 200, 8
_MATRIX = 20_000  # characters of the links between GPUs
_VARIABLES, _DETAILS = 100, 20
_PARAMETERS, _VERSIONS, _CHECKS, _GPUS = 30, 20, 50, 1024
_FAR = 1e15  # larger than any size or number of tokens in a lab
_LONG = 1e30  # samples in base units


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it has a control character or an invisible one")
    return text


def _cut(value: object) -> object:
    """A number or a short text, for a field that only describes a machine."""
    if isinstance(value, int | float) and abs(value) <= _LONG:
        return value
    return _shortened(value)


def _shortened(value: object) -> str:
    return str(value)[:_WORDS]


def _first_line(value: object) -> object:
    """The driver of one GPU, where an earlier version listed that of each."""
    return value.partition("\n")[0] if isinstance(value, str) else value


def _printable_lines(text: str) -> str:
    for line in text.splitlines():
        _printable(line.replace("\t", " "))
    return text


def _is_a_moment(text: str) -> str:
    datetime.fromisoformat(text)  # raises ValueError
    return text


_Text = Annotated[str, pydantic.StringConstraints(max_length=_WORDS), pydantic.AfterValidator(_printable)]
_Name = Annotated[str, pydantic.StringConstraints(max_length=_NAME), pydantic.AfterValidator(_printable)]
_Place = Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z_]{1,40}$")]
_Moment = Annotated[_Name, pydantic.AfterValidator(_is_a_moment)]
_Shortened = Annotated[_Text, pydantic.BeforeValidator(_shortened)]
_Described = Annotated[int | float | _Text, pydantic.BeforeValidator(_cut)]
_Matrix = Annotated[str, pydantic.StringConstraints(max_length=_MATRIX), pydantic.AfterValidator(_printable_lines)]
_Number = Annotated[float, pydantic.Field(ge=-_FAR, le=_FAR)]
_Sample = Annotated[float, pydantic.Field(ge=0, le=_LONG)]


class _UploadedPart(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="ignore")


def _several(most: int) -> object:
    return Annotated[tuple[_Described, ...], pydantic.Field(max_length=most)]


_SPECIAL = {
    "driver": Annotated[_Described | None, pydantic.BeforeValidator(_first_line)],
    "topology": _Matrix | None,
    "gpus": _several(_GPUS),
    "uuids": _several(_GPUS),
    "variables": _several(_VARIABLES),
}
_FACTS: dict[str, Any] = {
    one.name: (_SPECIAL.get(one.name, _Described | None), one.default) for one in fields(MachineFacts)
}
_Limits = pydantic.create_model("_Limits", __base__=_UploadedPart, **_FACTS)


def _limited(_: object, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:
    """The schema of the facts of a machine, each within its limits."""
    return core_schema.no_info_after_validator_function(lambda found: MachineFacts(**dict(found)), handler(_Limits))


class _UploadedSamples(_UploadedPart):
    """Samples of one measure at one place."""

    name: _Name
    where: dict[_Place, _Number] = pydantic.Field(max_length=_PLACES)
    samples: list[_Sample] = pydantic.Field(min_length=1, max_length=_SAMPLES)
    by_rank: list[Annotated[float, pydantic.Field(gt=0, le=_LONG)]] = pydantic.Field(default=[], max_length=MOST_RANKS)


class _UploadedRun(_UploadedPart):
    """A run in a file."""

    id: _Text
    lab: _Name
    state: Literal["done"]
    at: _Moment
    seconds: Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)] | None
    command: Annotated[str, pydantic.StringConstraints(max_length=_COMMAND)]
    given: dict[_Place, Annotated[str, pydantic.StringConstraints(max_length=_COMMAND)]] = pydantic.Field(
        default={}, max_length=_PARAMETERS
    )
    ranks: int = pydantic.Field(ge=1, le=MOST_RANKS)
    world: int | None = pydantic.Field(ge=1, le=MOST_RANKS)
    backend: Literal["gloo", "nccl"]
    machine: Annotated[MachineFacts, pydantic.GetPydanticSchema(_limited)]
    versions: dict[_Name, _Text] = pydantic.Field(max_length=_VERSIONS)
    checks: dict[_Name, Literal[True]] = pydantic.Field(min_length=1, max_length=_CHECKS)
    details: dict[_Name, _Shortened] = pydantic.Field(default={}, max_length=_DETAILS)
    measures: list[_UploadedSamples] = pydantic.Field(min_length=1, max_length=_MEASURES)


def read_sent_file(text: str) -> list[Report]:
    """The runs in a file: one, or several, each on a line as `wallclock lab check` records them."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or not all(line[0] == "{" and line[-1] == "}" for line in lines):  # noqa: PLR2004
        return [_read_small(text)]
    if len(lines) > MOST_RUNS:
        raise input_error(
            "this file has {lines} runs, but {most_runs} are the limit", lines=len(lines), most_runs=MOST_RUNS
        )
    reports = []
    for number, line in enumerate(lines, 1):
        try:
            reports.append(_read_small(line))
        except InputError as error:
            raise input_error("run {count} of {lines}: {error}", count=number, lines=len(lines), error=error) from None
    return reports


def _read_small(text: str) -> Report:
    if len(text.encode()) > FILE_LIMIT:
        raise input_error(
            "this file is larger than {file_limit} KiB, the limit for a run", file_limit=FILE_LIMIT // 1024
        )
    report = read_sent(text)
    if report.doubts:  # something disturbed it
        seen = " ".join(map(localized_note, report.doubts))
        what_to_do = translate(WHAT_TO_DO)
        raise input_error("this run was disturbed. {seen} {what_to_do}", seen=seen, what_to_do=what_to_do)
    return report


def read_sent(text: str) -> Report:
    """The run that *text* describes; whatever follows from its samples is computed again."""
    try:
        sent = _UploadedRun.model_validate_json(text)
    except pydantic.ValidationError as error:
        raise InputError(_first_problem(error)) from None
    try:
        job = _job_of(sent)
        report = analyze_report(_report_of(sent, job), job.ranks, job.values)
        refuse_impossible(report)
    except (NotFoundError, ValueError, ArithmeticError) as error:
        raise input_error("this run cannot be read here: {error}", error=error) from None
    return report


_PLAINLY = {
    "state": "only a finished run can be compared",
    "checks": "the run did not find its data right, so its times do not count",
    "samples": "these are not measurements",
}


def sent_row(report: Report, name: str, learner: str) -> LabRunRow:
    """The row of a run of *learner* on another machine, called *name* here."""
    return LabRunRow(
        name=name,
        lab=report.lab,
        given=json.dumps(dict(report.given)),
        backend=report.backend,
        host=SENT,
        pool=name,
        learner=learner,
        state=RunState.DONE,
        report=replace(report, id=name).as_json(),
    )


def _first_problem(error: pydantic.ValidationError) -> str:
    """The first problem of a file, without quoting much of it."""
    place, says = next(problems_of(error.errors(include_url=False)))
    where = ".".join(map(str, place))[:_NAME] or "the text"
    plainly = next((_PLAINLY[part] for part in map(str, place) if part in _PLAINLY), "")
    why = f"{plainly} ({says})" if plainly and says != SENTENCES["missing"] else says
    return f"this is not a run as `wallclock lab run ... --json` prints it: {where}: {why[:_WORDS]}"


def _job_of(sent: _UploadedRun) -> LabJob:
    lab = lab_called(sent.lab).run_over(sent.backend)
    job = read_job(lab, sent.given or parameters_in(sent.command))
    if sent.command != job.command:
        raise input_error("this run's command does not run {name} with its parameters", name=lab.name)
    if job.ranks != sent.ranks:
        raise input_error("this run had {ranks} ranks, but its command has {asked}", ranks=sent.ranks, asked=job.ranks)
    if unknown := {one.name for one in sent.measures} - lab.measures.keys():
        raise input_error("{name} has no measure called {unknown!r}", name=lab.name, unknown=min(unknown))
    if lab.fits and any(one.name == lab.fits and "size" not in one.where for one in sent.measures):
        raise input_error("a measure of this run lacks its size")
    return job


def _report_of(sent: _UploadedRun, job: LabJob) -> Report:
    """*sent* as a report, before its samples are analyzed."""
    return Report(
        id=sent.id,
        lab=sent.lab,
        state=RunState.DONE,
        seconds=sent.seconds,
        at=sent.at,
        command=job.command,
        ranks=job.ranks,
        world=sent.world,
        backend=sent.backend,
        links=job.lab.links,
        machine=sent.machine,
        versions=sent.versions,
        checks=dict(sent.checks),
        measures=tuple(
            Measure(name=one.name, where=dict(one.where), samples=tuple(one.samples), by_rank=tuple(one.by_rank))
            for one in sent.measures
        ),
        given=job.given,
        nodes=job.nodes or 1,
        details=sent.details,
    )


_SLACK = 2.0  # a switch that adds on the way doubles what a link seems to carry
_PCIE = parse("64 GB/s", BYTE_PER_SECOND)  # one direction of PCIe 5.0 with 16 lanes (PCI-SIG)
_CACHE = 10.0  # how much faster than its memory the caches of a processor or GPU may be


def refuse_impossible(report: Report) -> None:
    """Refuse a run that is faster than twice what its hardware, or any that is known, allows.

    The rates are those that the lab derives, at the fastest sample.
    """
    # Those with the model's name in theirs: the H100 as a card and as a module are both.
    words = (
        " ".join(map(str, report.machine.gpus)).replace("-", " ").upper().split() if report.backend == "nccl" else ()
    )
    known = [gpu for name, gpu in GPUS.items() if name.split()[0].upper() in words] or list(GPUS.values())
    is_alone = report.ranks == 1 or lab_called(report.lab).run_over(report.backend).alone
    for one in report.measures:
        if not one.least and one.derived:
            raise input_error("{name}: nothing takes no time at all", name=one.name)
        for name, value, unit in _rates(one):
            most = _most(known, unit, is_alone=is_alone)
            if value > most:
                raise input_error(
                    "{name} of {value} is impossible: this hardware reaches {most} at most",
                    name=name,
                    value=show(value, unit),
                    most=show(most, unit),
                )


def _rates(one: Measure) -> Iterator[tuple[str, float, Unit]]:
    """Each rate that follows from the median, at the fastest sample."""
    for name, derived in one.derived.items():
        symbol = derived.shown.partition(" ")[2]
        unit = scale_of(symbol).unit if symbol else RATIO
        if unit in (BYTE_PER_SECOND, FLOP_PER_SECOND):
            yield name, derived.value * one.median / one.least, unit


def _most(known: Iterable[Gpu], unit: Unit, *, is_alone: bool) -> float:
    """The highest rate in *unit*: of arithmetic, of links, or of one rank's own memory."""
    if unit == FLOP_PER_SECOND:
        return _SLACK * max(max(gpu.peak, gpu.peak_8bit) for gpu in known)
    if is_alone:
        return _CACHE * max(gpu.memory_bandwidth for gpu in known)
    return _SLACK * max(max(gpu.nvlink, _PCIE) for gpu in known)
