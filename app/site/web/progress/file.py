"""Progress as a file: what is exported, and everything that is wrong with a file to import."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from app.core.errors import InputError, NotFoundError
from app.core.quotation import quote_json
from app.core.translation import noted, translate
from app.core.validation import SENTENCES, problems_of
from app.labs.results.report import Report
from app.server.db.assessments import MOST_CHAPTERS, AssessedAnswer, KnownChapter
from app.server.db.measurements import REPORT_LIMIT, MeasurementRow, is_measurement_name
from app.server.db.records import PersonalRows
from app.server.db.tables import NAME_LIMIT, Attempt, DailyGuess, LabRunRow, Prediction, Reveal, now
from app.site.labs.upload import read_sent, sent_row
from app.site.web.measured.saved_measurement import view_of_row
from app.site.web.progress import FILE_LIMIT

_FIRST = datetime(2020, 1, 1, tzinfo=UTC)  # there was nothing to answer before
_AHEAD = timedelta(days=1)  # that another clock may be


def day_of(text: object) -> date:
    """The day of a guess.

    Raises:
        ValueError: it is not one, or in the future; what it says comes after the place of the row.
    """
    try:
        day = date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        day = None
    if day is None or not _FIRST.date() <= day <= (now() + _AHEAD).date():
        raise ValueError(translate(".day is {given}: a day such as 2026-03-01 is expected", given=quote_json(text)))
    return day


def row_problem(where: str, error: ValidationError) -> str:
    """The first problem of a row that has all of its fields, and may have more."""
    inside, says = next(problems_of(error.errors(include_url=False)))
    place = ".".join([where, *map(str, inside)])[:100]
    if says == SENTENCES["missing"]:
        return translate("{place} is missing", place=place)
    return f"{place} {says}"


def parse_moment(text: object) -> datetime:
    """The moment that *text* names.

    Raises:
        ValueError: it is not one; what it says comes after the place of the row.
    """
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or not _FIRST <= at <= now() + _AHEAD:
        raise ValueError(
            translate(
                ".at is {given}: a time between 2020 and today, such as 2026-03-01T12:00:00Z, is expected",
                given=quote_json(text),
            )
        )
    return at.astimezone(UTC)


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
_EXPECTED = noted("choose a file that Export wrote")
_Row = TypeVar("_Row", Attempt, Reveal, Prediction, DailyGuess, AssessedAnswer, KnownChapter)


class FileError(InputError):
    """A file cannot be imported; one sentence for each *problem*."""

    def __init__(self, *problems: str) -> None:
        super().__init__(problems[0])
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The rows of a file, and how many lab runs and measurements in it cannot be taken."""

    rows: PersonalRows
    left: int


def progress_file(stored: Mapping[str, object]) -> str:
    """Everything *stored* about a learner, as a file."""
    return json.dumps({"format": FORMAT, "version": VERSION, **stored}, ensure_ascii=False)


def read_file(content: bytes, learner: str) -> ReadFile:
    """The rows of the file with that *content*, as rows of *learner*.

    Raises:
        FileError: it is not such a file, or some of its rows are not valid.
    """
    found = _object(content)
    _refuse_version(found)
    given = {name: _list(found, name, most) for name, most in _LISTS.items()}
    if not any(name in found for name in _LISTS):
        form = noted("this is JSON without {lists}: {expected}")
        raise FileError(translate(form, lists=", ".join(_LISTS), expected=translate(_EXPECTED)))
    problems: list[str] = []
    rows = PersonalRows(
        attempts=_rows(Attempt, "attempts", given["attempts"], learner, problems),
        reveals=_rows(Reveal, "reveals", given["reveals"], learner, problems),
        predictions=_rows(Prediction, "predictions", given["predictions"], learner, problems),
        guesses=_rows(DailyGuess, "guesses", given["guesses"], learner, problems),
        runs=tuple(_runs(given["runs"], learner)),
        measurements=tuple(_measurements(given["measurements"], learner)),
        assessed=_rows(AssessedAnswer, "assessed", given["assessed"], learner, problems),
        known_chapters=_rows(KnownChapter, "known_chapters", given["known_chapters"], learner, problems),
    )
    if problems:
        raise FileError(*problems)
    asked = len(given["runs"]) + len(given["measurements"])
    return ReadFile(rows, asked - len(rows.runs) - len(rows.measurements))


def _object(content: bytes) -> Mapping[str, object]:
    if not content.strip():
        raise FileError(translate("no file was chosen, or it is empty: {expected}", expected=translate(_EXPECTED)))
    if len(content) > FILE_LIMIT:
        raise FileError(translate("this file is larger than {limit} MiB, the limit", limit=FILE_LIMIT >> 20))
    try:
        found = from_json(content, allow_inf_nan=False, cache_strings="none")
    except ValueError as error:
        says = translate(
            "this is not JSON ({error}): {expected}", error=str(error)[:100], expected=translate(_EXPECTED)
        )
        raise FileError(says) from None
    if not isinstance(found, dict):
        form = noted("this is JSON, but not an object with {lists}: {expected}")
        raise FileError(translate(form, lists=", ".join(_LISTS), expected=translate(_EXPECTED)))
    return found


def _refuse_version(found: Mapping[str, object]) -> None:
    """Refuse what another program or a newer version wrote; the first exports do not say."""
    form, version = found.get("format", FORMAT), found.get("version", VERSION)
    if form != FORMAT:
        says = noted("format is {given}, not {form!r}: {expected}")
        raise FileError(translate(says, given=quote_json(form), form=FORMAT, expected=translate(_EXPECTED)))
    if version != VERSION:
        says = translate(
            "version is {given}, and this server reads version {version}: import it into a server "
            "of the version that wrote it",
            given=quote_json(version),
            version=VERSION,
        )
        raise FileError(says)


def _list(found: Mapping[str, object], name: str, most: int) -> list[object]:
    rows = found.get(name, [])
    if not isinstance(rows, list):
        raise FileError(translate("{name} is {given}, not a list", name=name, given=quote_json(rows)))
    if len(rows) > most:
        form = noted("{name} has {rows:,} rows: at most {most:,} are read")
        raise FileError(translate(form, name=name, rows=len(rows), most=most))
    return rows


def _rows(kind: type[_Row], name: str, rows: Sequence[object], learner: str, problems: list[str]) -> tuple[_Row, ...]:
    """Every row, or those before there are too many *problems*."""
    made: list[_Row] = []
    for number, row in enumerate(rows):
        if len(problems) == _SHOWN:
            break
        try:
            made.append(_progress_file_row(kind, row, learner))
        except ValidationError as error:
            problems.append(row_problem(f"{name}[{number}]", error))
        except ValueError as error:
            problems.append(f"{name}[{number}]{error}")
    return tuple(made)


def _progress_file_row(kind: type[_Row], row: object, learner: str) -> _Row:
    """*row* of a file as a row of *learner*.

    Raises:
        ValueError: it is not valid; what it says comes after the place of the row.
    """
    if not isinstance(row, dict):
        raise ValueError(f" is {quote_json(row)}, not an object")  # noqa: TRY004
    fields = {name: value for name, value in row.items() if name not in ("id", "learner", "place")}
    if kind is Attempt:
        fields["carried"] = True  # a file can be written by hand
    if kind is DailyGuess:
        fields["day"] = day_of(row.get("day"))
    return kind.model_validate({**fields, "at": parse_moment(row.get("at")), "learner": learner})


def _runs(rows: Sequence[object], learner: str) -> Iterator[LabRunRow]:
    """The finished runs, as if they were sent in; others cannot be compared with anything."""
    for row in rows:
        text = row.get("report") if isinstance(row, dict) else None
        if isinstance(text, str):
            with suppress(InputError):
                report = read_sent(text)
                yield sent_row(report, imported_run_name(report), learner)


def imported_run_name(report: Report) -> str:
    """The name of a run that is imported: the same run is known again, whatever it was called."""
    identity = json.dumps([report.lab, report.command, report.at, report.seconds, report.backend])
    return f"imported-{hashlib.sha256(identity.encode()).hexdigest()[:24]}"


def _measurements(rows: Sequence[object], learner: str) -> Iterator[MeasurementRow]:
    """The measurements that a page of this version can show."""
    for row in rows:
        match row:
            case {"name": str(name), "title": str(title), "report": str(report), **rest}:
                if not is_measurement_name(name) or len(report) > REPORT_LIMIT:
                    continue
                made = MeasurementRow(
                    name=name,
                    learner=learner,
                    title="".join(filter(str.isprintable, title))[:NAME_LIMIT] or "A measurement",
                    report=report,
                    given=str(rest.get("given", "{}"))[:_LONGEST_GIVEN],
                )
                with suppress(ValueError, NotFoundError):
                    made.at = parse_moment(rest.get("at"))
                    view_of_row(made)
                    yield made
