"""Progress as a file: what is exported, and everything that is wrong with a file to import."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from app.db.assessments import MOST_CHAPTERS, Assessed, KnownChapter
from app.db.lab_runs import SENT
from app.db.measurements import REPORT_LIMIT, MeasurementRow, is_measurement_name
from app.db.personal import Personal
from app.db.run_state import State
from app.db.tables import (
    NAME_LIMIT,
    Attempt,
    DailyGuess,
    LabRunRow,
    Prediction,
    Reveal,
    now,
)
from app.errors import InputError, NotFoundError
from app.labs.results.report import Report
from app.labs.results.upload import read_sent
from app.web.measured.saved import view_of_row

FILE_LIMIT = 8 << 20  # bytes
FORMAT, VERSION = "wallclock progress", 1
# At most this number of rows each.
_LISTS = {
    "attempts": 20_000,
    "reveals": 20_000,
    "predictions": 10_000,
    "guesses": 5_000,
    "runs": 500,
    "measurements": 100,
    "assessed": 10_000,
    "known_chapters": MOST_CHAPTERS,
}
_SHOWN = 5  # problems that are reported
_LONGEST_GIVEN = 2_000  # characters of a cluster, a model and a layout
_QUOTED = 40  # characters of a value that is not valid
_FIRST = datetime(2020, 1, 1, tzinfo=UTC)  # there was nothing to answer before
_AHEAD = timedelta(days=1)  # that another clock may be
_EXPECTED = "choose a file that Export wrote"
_Row = TypeVar("_Row", Attempt, Reveal, Prediction, DailyGuess, Assessed, KnownChapter)


class FileError(InputError):
    """A file cannot be imported; one sentence for each *problem*."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(problems[0])
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The rows of a file, and how many lab runs and measurements in it cannot be taken."""

    rows: Personal
    left: int


def written(stored: Mapping[str, object]) -> str:
    """Everything *stored* about a learner, as a file."""
    return json.dumps({"format": FORMAT, "version": VERSION, **stored}, ensure_ascii=False)


def read_file(content: bytes, learner: str) -> ReadFile:
    """The rows of the file with that *content*, as rows of *learner*.

    Raises:
        FileError: it is not such a file, or some of its rows are not valid.
    """
    found = _object(content)
    _refuse_version(found)
    lists = {name: _list(found, name, most) for name, most in _LISTS.items()}
    if not any(name in found for name in _LISTS):
        raise FileError([f"this is JSON without {', '.join(_LISTS)}: {_EXPECTED}"])
    problems: list[str] = []
    rows = Personal(
        attempts=_rows(Attempt, "attempts", lists["attempts"], learner, problems),
        reveals=_rows(Reveal, "reveals", lists["reveals"], learner, problems),
        predictions=_rows(Prediction, "predictions", lists["predictions"], learner, problems),
        guesses=_rows(DailyGuess, "guesses", lists["guesses"], learner, problems),
        runs=tuple(_runs(lists["runs"], learner)),
        measurements=tuple(_measurements(lists["measurements"], learner)),
        assessed=_rows(Assessed, "assessed", lists["assessed"], learner, problems),
        known_chapters=_rows(
            KnownChapter, "known_chapters", lists["known_chapters"], learner, problems
        ),
    )
    if problems:
        raise FileError(problems)
    asked = len(lists["runs"]) + len(lists["measurements"])
    return ReadFile(rows, asked - len(rows.runs) - len(rows.measurements))


def without_runs(rows: Personal, names: Collection[str]) -> Personal:
    """*rows* without the lab runs of these *names*."""
    return replace(rows, runs=[row for row in rows.runs if row.name not in names])


def _object(content: bytes) -> Mapping[str, object]:
    if not content.strip():
        raise FileError([f"there is no file, or it is empty: {_EXPECTED}"])
    if len(content) > FILE_LIMIT:
        raise FileError([f"this file is larger than {FILE_LIMIT >> 20} MiB, the limit"])
    try:
        found = from_json(content, allow_inf_nan=False, cache_strings="none")
    except ValueError as error:
        raise FileError([f"this is not JSON ({str(error)[:100]}): {_EXPECTED}"]) from None
    if not isinstance(found, dict):
        raise FileError([f"this is JSON, but not an object with {', '.join(_LISTS)}: {_EXPECTED}"])
    return found


def _refuse_version(found: Mapping[str, object]) -> None:
    """Refuse what another program or a newer version wrote; the first exports do not say."""
    form, version = found.get("format", FORMAT), found.get("version", VERSION)
    if form != FORMAT:
        raise FileError([f"format is {_quoted(form)}, not {FORMAT!r}: {_EXPECTED}"])
    if version != VERSION:
        says = f"version is {_quoted(version)}, and this server reads version {VERSION}"
        raise FileError([f"{says}: import it into a server of the version that wrote it"])


def _list(found: Mapping[str, object], name: str, most: int) -> list[object]:
    rows = found.get(name, [])
    if not isinstance(rows, list):
        raise FileError([f"{name} is {_quoted(rows)}, not a list"])
    if len(rows) > most:
        raise FileError([f"{name} has {len(rows):,} rows: at most {most:,} are read"])
    return rows


def _rows(
    kind: type[_Row], name: str, rows: Sequence[object], learner: str, problems: list[str]
) -> tuple[_Row, ...]:
    """Every row, or those before there are too many *problems*."""
    made: list[_Row] = []
    for number, row in enumerate(rows):
        if len(problems) == _SHOWN:
            break
        try:
            made.append(_row(kind, row, learner))
        except ValidationError as error:
            problems.append(_says(f"{name}[{number}]", error))
        except ValueError as error:
            problems.append(f"{name}[{number}]{error}")
    return tuple(made)


def _row(kind: type[_Row], row: object, learner: str) -> _Row:
    """*row* of a file as a row of *learner*.

    Raises:
        ValueError: it is not valid; what it says comes after the place of the row.
    """
    if not isinstance(row, dict):
        raise ValueError(f" is {_quoted(row)}, not an object")  # noqa: TRY004
    fields = {name: value for name, value in row.items() if name not in ("id", "learner", "place")}
    if kind is Attempt:
        fields["carried"] = True  # a file can be written by hand
    if kind is DailyGuess:
        fields["day"] = _day(row.get("day"))
    return kind.model_validate({**fields, "at": _moment(row.get("at")), "learner": learner})


def _day(text: object) -> date:
    """The day of a guess.

    Raises:
        ValueError: it is not one, or in the future; what it says comes after the place of the row.
    """
    try:
        day = date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        day = None
    if day is None or not _FIRST.date() <= day <= (now() + _AHEAD).date():
        raise ValueError(f".day is {_quoted(text)}: a day such as 2026-03-01 is expected")
    return day


def _says(where: str, error: ValidationError) -> str:
    """The first problem of a row that has all of its fields, and may have more."""
    first = error.errors(include_url=False)[0]
    place = ".".join([where, *(str(part) for part in first["loc"])])[:100]
    if first["type"] == "missing":
        return f"{place} is missing"
    message = str(first["msg"])
    return f"{place} is {_quoted(first['input'])}: {message[:1].lower()}{message[1:]}"


def _moment(text: object) -> datetime:
    expected = "a time between 2020 and today, such as 2026-03-01T12:00:00Z, is expected"
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or not _FIRST <= at <= now() + _AHEAD:
        raise ValueError(f".at is {_quoted(text)}: {expected}")
    return at.astimezone(UTC)


def _runs(rows: Sequence[object], learner: str) -> Iterator[LabRunRow]:
    """The finished runs, as if they were sent in; others cannot be compared with anything."""
    for row in rows:
        text = row.get("report") if isinstance(row, dict) else None
        if isinstance(text, str) and (made := _run(text, learner)):
            yield made


def _run(text: str, learner: str) -> LabRunRow | None:
    try:
        report = read_sent(text)
    except InputError:
        return None
    name = name_of(report)
    return LabRunRow(
        name=name,
        lab=report.lab,
        given=json.dumps(dict(report.given)),
        backend=report.backend,
        host=SENT,
        pool=name,
        learner=learner,
        state=State.DONE,
        report=replace(report, id=name).as_json(),
    )


def name_of(report: Report) -> str:
    """The name of a run that is imported: the same run is known again, whatever it was called."""
    identity = json.dumps([report.lab, report.command, report.at, report.seconds, report.backend])
    return f"imported-{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def _measurements(rows: Sequence[object], learner: str) -> Iterator[MeasurementRow]:
    """The measurements that a page of this version can show."""
    for row in rows:
        if isinstance(row, dict) and (made := _measurement(row, learner)):
            yield made


def _measurement(row: Mapping[str, object], learner: str) -> MeasurementRow | None:
    name, title, report = (row.get(key) for key in ("name", "title", "report"))
    texts = isinstance(name, str) and isinstance(title, str) and isinstance(report, str)
    if not texts or not is_measurement_name(str(name)) or len(str(report)) > REPORT_LIMIT:
        return None
    given = row.get("given", "{}")
    made = MeasurementRow(
        name=str(name),
        learner=learner,
        title="".join(filter(str.isprintable, str(title)))[:NAME_LIMIT] or "A measurement",
        report=str(report),
        given=str(given)[:_LONGEST_GIVEN],
    )
    try:
        made.at = _moment(row.get("at"))
        view_of_row(made)
    except (ValueError, NotFoundError):
        return None
    return made


def _quoted(value: object) -> str:
    """The beginning of *value* as JSON."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"
