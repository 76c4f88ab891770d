"""/progress: what a learner has done; it can be exported, imported and deleted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal, TypeVar

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from starlette.datastructures import UploadFile

from app.core.errors import InputError, UnavailableError, input_error, sentence
from app.core.translation import noted, translate
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.learning import Mastery, Memory, mastery_by_skill, mastery_of
from app.server.aside import aside
from app.server.db.assessments import MOST_CHAPTERS
from app.server.db.history import Effort, PastAnswer
from app.server.db.records import LearnerRecords, MergeResult, PersonalRows
from app.server.db.tables import Attempt
from app.server.network.door import note_trouble
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.markdown import inline_html
from app.site.web.exercise.views import typed_line, view_of
from app.site.web.frame.database_copies import copies_until
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import COOKIE, FromHere, Visiting, remember, spend, spend_storage, visitor_learner
from app.site.web.labs.results import list_finished_runs
from app.site.web.progress import FILE_LIMIT
from app.site.web.progress.file import FileError, imported_run_name, progress_file, read_file
from app.site.web.standing import next_steps
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.records import open_records
from app.site.web.standing.view import ChapterCard, ExerciseRow, LearnerHistory, card_of, clock, mark_of, row_of
from app.site.web.urls import exercise_url

T = TypeVar("T")
Fate = Literal["open", "corrected", "gone"]
_SAYS: Mapping[Fate, str] = {
    "open": noted("no right answer since"),
    "corrected": noted("right since, on the same day"),
    "gone": noted("gone: right on a later day"),
}
LOOKED_AT = 200  # wrong answers, the latest
_LISTED = 12  # ideas


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongIdea:
    """A known mistake that the learner made: its diagnosis, how often, and its fate."""

    link: Hyperlink
    diagnosis: Markup
    times: int
    last: datetime
    fate: Fate

    @property
    def says(self) -> str:
        """Whether it is gone, in words."""
        return translate(_SAYS[self.fate])


def wrong_ideas(course: Catalog, wrong: Sequence[Attempt], answers: Sequence[PastAnswer]) -> tuple[WrongIdea, ...]:
    """The known mistakes for which *wrong* ones of a learner's *answers* were taken; those that are gone come last."""
    found: dict[tuple[str, str], list[Attempt]] = {}
    for attempt in wrong:
        exercise = course.by_id.get(attempt.exercise)
        if exercise and attempt.mistake and exercise.draw(attempt.seed).as_json == attempt.drawn:
            found.setdefault((exercise.id, attempt.mistake), []).append(attempt)
    told = (_idea(course.exercise(name), those, answers) for (name, _), those in found.items())
    ideas = sorted(filter(None, told), key=lambda idea: (idea.fate == "gone", -idea.last.timestamp()))
    return tuple(ideas[:_LISTED])


def _idea(exercise: Exercise, those: Sequence[Attempt], answers: Sequence[PastAnswer]) -> WrongIdea | None:
    """The mistake that *those* answers have in common, the latest first; None if nothing is said of it any more."""
    last = those[0]
    says = exercise.diagnosis(last.mistake or "", last.seed)
    if not says:
        return None
    right = [one.at for one in answers if one.exercise == exercise.id and one.own]
    since = [at for at in right if at > last.at]
    later = any(at.astimezone(UTC).date() > last.at.astimezone(UTC).date() for at in since)
    return WrongIdea(
        link=Hyperlink(exercise_url(exercise.id, last.seed), exercise.title),
        diagnosis=inline_html(says),
        times=len(those),
        last=last.at,
        fate="gone" if later else "corrected" if since else "open",
    )


_WEEKS = 26
_MANY, _SOME = 10, 4  # answers per day for the darkest and the middle shade
_NEXT = 8  # reviews that are listed with their dates


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day of the calendar; *shade* is 0 to 3."""

    date: date
    count: int
    shade: int


@dataclass(frozen=True, slots=True)
class Recent:
    """A recent attempt; *link* has no address if the exercise is no longer in the course."""

    at: datetime
    link: Hyperlink
    correct: bool
    answer: tuple[Markup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPlace:
    """An exercise among those of its chapter: its status, answers, time, and the date of its next review."""

    row: ExerciseRow
    review: date | None
    is_due: bool
    answers: int
    right: int
    time: str

    @property
    def says(self) -> str:
        """Its status in words."""
        if self.is_due:
            return translate("{says}, due for review", says=self.row.says)
        return self.row.says


@dataclass(frozen=True, slots=True)
class ProgressChapter:
    """A chapter with its exercises, and the share that the learner would solve now."""

    card: ChapterCard
    mastery: Mastery
    places: tuple[MapPlace, ...]


@dataclass(frozen=True, slots=True)
class Skill:
    """The mastery of a skill, and the number of right answers."""

    name: str
    mastery: Mastery
    answers: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPage:
    """The progress of a learner."""

    any: bool
    is_stored: bool
    onward: next_steps.NextSteps
    solved: int
    unaided: int
    tried: int
    total: int
    bonus: int
    weeks: tuple[tuple[CalendarDay, ...], ...]
    days: tuple[CalendarDay, ...]
    chapters: tuple[ProgressChapter, ...]
    skills: tuple[Skill, ...]
    due: int
    reviews: tuple[MapPlace, ...]
    ideas: tuple[WrongIdea, ...]
    answers: int
    right: int
    time: str
    recent: tuple[Recent, ...]
    sections: tuple[next_steps.TickSection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRecord:
    """What is stored of a learner, if anything *is_stored*: answers by day, the effort on each exercise, the latest."""

    past: LearnerHistory = field(default_factory=LearnerHistory)
    is_stored: bool = False
    days: Mapping[date, int] = field(default_factory=dict)
    efforts: Mapping[str, Effort] = field(default_factory=dict)
    latest: Sequence[Attempt] = ()
    ideas: tuple[WrongIdea, ...] = ()


def first_day(today: date) -> date:
    """The first day of the calendar."""
    return today - timedelta(weeks=_WEEKS - 1, days=today.weekday())


def progress_page(course: Catalog, record: ProgressRecord, today: date) -> ProgressPage:
    """The progress of the learner of *record*."""
    past, took = record.past, record.efforts
    path = [one for topic in course.topics for one in topic.path]
    marks = [mark_of(past.known.get(one.id)) for one in path]
    first = first_day(today)
    days = [_day(first + timedelta(n), record.days) for n in range((today - first).days + 1)]
    chapters = tuple(
        ProgressChapter(
            card_of(topic, past),
            mastery_of(topic.path, past.memories),
            tuple(_place(one, past, took.get(one.id), today) for one in topic.exercises),
        )
        for topic in course.topics
    )
    return ProgressPage(
        any=bool(past.known),
        is_stored=record.is_stored,
        onward=next_steps.next_steps(course, past, next_steps.chapter_on_route(course, past), today),
        solved=sum(mark in ("solved", "unaided") for mark in marks),
        unaided=marks.count("unaided"),
        tried=len(marks) - marks.count("new"),
        total=len(marks),
        bonus=sum(chapter.card.extras.solved for chapter in chapters),
        weeks=tuple(tuple(days[n : n + 7]) for n in range(0, len(days), 7)),
        days=tuple(d for d in reversed(days) if d.count),
        chapters=chapters,
        skills=tuple(_skills(course, past.memories, took)),
        due=sum(place.is_due for chapter in chapters for place in chapter.places),
        reviews=_next_reviews(chapters),
        ideas=record.ideas,
        answers=sum(effort.answers for effort in took.values()),
        right=sum(effort.right for effort in took.values()),
        time=clock([effort.seconds for effort in took.values()]),
        recent=tuple(_recent(course, row) for row in record.latest),
        sections=tuple(next_steps.chapter_ticks(course, past.chapters)),
    )


def _next_reviews(chapters: Sequence[ProgressChapter]) -> tuple[MapPlace, ...]:
    """The exercises whose reviews come next, the first one first."""
    dated = [
        (place.review, number, place)
        for number, place in enumerate(p for chapter in chapters for p in chapter.places)
        if place.review
    ]
    return tuple(place for _, _, place in sorted(dated)[:_NEXT])


def _place(exercise: Exercise, past: LearnerHistory, took: Effort | None, today: date) -> MapPlace:
    effort = took or Effort(0, 0, None)
    memory = past.memories.get(exercise.id)
    return MapPlace(
        row=row_of(exercise, past.known),
        review=memory.due if memory else None,
        is_due=memory is not None and memory.due <= today,
        answers=effort.answers,
        right=effort.right,
        time=clock([effort.seconds]),
    )


def _skills(course: Catalog, kept: Mapping[str, Memory], took: Mapping[str, Effort]) -> Iterator[Skill]:
    """Every skill that was tried, by what is on a path or was tried, the least mastered first."""
    exercises = [
        one for topic in course.topics for one in (*topic.path, *(extra for extra in topic.extras if extra.id in took))
    ]
    known = mastery_by_skill(exercises, kept)
    tried = {skill for e in exercises if e.id in took for skill in e.skills}
    for skill in (*sorted(tried - set(known)), *known):
        those = [e for e in exercises if skill in e.skills]
        efforts = [took[e.id] for e in those if e.id in took]
        mastery = known[skill] if skill in known else mastery_of(those, kept)
        yield Skill(skill, mastery, sum(e.answers for e in efforts), sum(e.right for e in efforts))


def _recent(course: Catalog, row: Attempt) -> Recent:
    exercise = course.by_id.get(row.exercise)
    if exercise is None:
        return Recent(row.at, Hyperlink("", row.exercise), row.correct, (typed_line(row.answer),))
    link = Hyperlink(exercise_url(row.exercise, row.seed), exercise.title)
    told = tuple(view_of(exercise).told(exercise, row.seed, row.answer))
    return Recent(row.at, link, row.correct, told)


def _day(day: date, counts: Mapping[date, int]) -> CalendarDay:
    count = counts.get(day, 0)
    shade = 0 if not count else 1 if count < _SOME else 2 if count < _MANY else 3
    return CalendarDay(day, count, shade)


router = Router(prefix="/progress")
_PART = 16_384  # bytes of a file that count as one answer
_MARK = 200  # bytes of a chapter that is marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What became of an import or a deletion."""

    deleted: bool = False
    copies: str = ""  # the day on which the last copy of the database is removed
    merged: MergeResult | None = None
    left: int = 0
    saved: bool = False
    problems: tuple[str, ...] = ()


@router.get("")
async def show_progress(
    request: Request,
    site: Here,
    visiting: Visiting,
    deleted: str = "",
    added: str = "",
    known: str = "",
    left: str = "",
    saved: str = "",
) -> Response:
    """The progress page."""
    merged = MergeResult(_count(added), _count(known)) if added else None
    copies = copies_until(site.settings.database) if deleted == "1" else ""
    notice = Notice(deleted=deleted == "1", copies=copies, merged=merged, left=_count(left), saved=saved == "1")
    return await aside(_shown_progress, request, site, visiting.learner, notice)


@router.get("/export")
async def export_progress_file(site: Here, visiting: Visiting) -> Response:
    """Everything that is stored about the learner, as JSON."""
    if visiting.person:
        return RedirectResponse("/me/export", 303)
    content = await aside(_with_records, site, visiting.learner, lambda records: progress_file(records.everything()))
    name = 'attachment; filename="wallclock.json"'
    return Response(content, media_type="application/json", headers={"Content-Disposition": name})


@router.post("/import", dependencies=[FromHere])
async def import_progress_file(request: Request, site: Here, visiting: Visiting) -> Response:
    """Merge a file with what is stored about the learner."""
    learner = visitor_learner(visiting)
    try:
        content = await _content(request)
        spend(site.allowances.answers, "imports", 1 + len(content) / _PART)
        spend_storage(site, len(content))
        found = await aside(read_file, content, learner)
        if found.rows.runs:
            spend(site.allowances.sent_runs, "sent runs", len(found.rows.runs))
        merged = await aside(_merge, site, learner, found.rows)
    except (InputError, UnavailableError) as error:
        if isinstance(error, UnavailableError):
            note_trouble(request, error, error.cause)
        status = 422 if isinstance(error, InputError) else 503
        problems = error.problems if isinstance(error, FileError) else (str(error),)
        notice = Notice(problems=tuple(map(sentence, problems)))
        return await aside(_shown_progress, request, site, visiting.learner, notice, status)
    counts = f"added={merged.added}&known={merged.known}&left={found.left}"
    response = RedirectResponse(f"/progress?{counts}#notice", 303)
    remember(request, response, learner, site.secret)
    return response


@router.post("/known", dependencies=[FromHere])
async def know(request: Request, site: Here, visiting: Visiting) -> Response:
    """Store which chapters the learner knows: those that were ticked, and no others."""
    spend(site.allowances.answers, "answers", 1.0)
    form = await request.form(max_files=0, max_fields=MOST_CHAPTERS)
    ticked = {str(value) for name, value in form.multi_items() if name == "chapter"}
    chosen = [one.id for one in site.catalog.topics if one.id in ticked]
    response = RedirectResponse("/progress?saved=1#notice", 303)
    if not chosen and not visiting.learner:
        return response  # nothing was ticked, and nothing is stored
    spend_storage(site, len(chosen) * _MARK)
    learner = visitor_learner(visiting)
    await aside(_with_records, site, learner, lambda records: records.mark_known(chosen))
    remember(request, response, learner, site.secret)
    return response


@router.post("/delete", dependencies=[FromHere])
async def delete_progress(site: Here, visiting: Visiting, sure: Annotated[str, Form()] = "") -> Response:
    """Delete everything that is stored about the learner."""
    if sure != "yes":
        raise input_error("nothing was deleted: tick the box to confirm, then delete again")
    if visiting.person:
        raise input_error("you are signed in: on your page you can delete yourself, and all of this")
    if visiting.learner:
        await aside(_with_records, site, visiting.learner, lambda records: records.delete_everything())
    response = RedirectResponse("/progress?deleted=1", 303)
    response.delete_cookie(COOKIE)
    return response


def _shown_progress(request: Request, site: Site, learner: str, notice: Notice, status: int = 200) -> Response:
    around = frame(request, translate("Progress"), here="progress")
    today = site.clock().date()
    record = _read_progress(site, learner, today, next_steps.chosen_route(request))
    page, limit = progress_page(site.catalog, record, today), f"{FILE_LIMIT >> 20} MiB"
    return render("progress/progress.html", around, page, status, notice=notice, limit=limit)


def _read_progress(site: Site, learner: str, today: date, route: str) -> ProgressRecord:
    """What *learner*, who has started *route*, has done until *today*."""
    if not learner:
        return ProgressRecord()
    past = read_learner_history(site, learner, route)
    with open_records(site, learner) as records:
        wrong = records.wrong_attempts(LOOKED_AT)
        return ProgressRecord(
            past=past,
            is_stored=True,
            days=records.attempts_by_day(first_day(today)),
            efforts=records.efforts(),
            latest=records.latest_attempts(),
            ideas=wrong_ideas(site.catalog, wrong, past.answers),
        )


def _with_records(site: Site, learner: str, use: Callable[[LearnerRecords], T]) -> T:
    with open_records(site, learner) as records:
        return use(records)


async def _content(request: Request) -> bytes:
    async with request.form(max_files=1, max_fields=2, max_part_size=FILE_LIMIT) as form:
        file = form.get("file")
        return await file.read() if isinstance(file, UploadFile) else str(file or "").encode()


def _merge(site: Site, learner: str, rows: PersonalRows) -> MergeResult:
    """Merge *rows*; a lab run that its lab lists already is known, of any learner."""
    labs = {row.lab for row in rows.runs}
    here = {imported_run_name(run.report) for lab in labs for run in list_finished_runs(site, lab) if run.report}
    others = replace(rows, runs=[row for row in rows.runs if row.name not in here])
    merged = _with_records(site, learner, lambda records: records.merge(others))
    return MergeResult(merged.added, rows.count - merged.added)


def _count(text: str) -> int:
    """A number in the address."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= len("999999") else 0
