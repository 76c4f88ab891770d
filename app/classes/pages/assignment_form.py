"""The form of an assignment: what it shows, and how what was sent is read."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo

from starlette.datastructures import FormData

from app.classes.pages.exercise_picker import CHOSEN, ORDER, PLACE, POINTS, typed_points
from app.classes.pages.points import number_of_points
from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.local_time import field_text, in_words, read_moment
from app.classes.people.persons import clean_name
from app.classes.people.policy import Hints, Policy, Solution, Variants
from app.core.errors import InputError, nearest, sentence
from app.core.translation import noted, translate

T = TypeVar("T")
_DATES = {"opens": False, "due": True, "closes": True}  # whether something ends then
_PLAIN = (*("title", "after", "late", "grace", "attempts", "variants", "hints", "hint_cost"), *("solution", "exam"))
_VARIANTS: tuple[Variants, ...] = ("own", "same", "many")
_HINTS: tuple[Hints, ...] = ("free", "cost", "off")
_SOLUTIONS: tuple[Solution, ...] = ("free", "due", "off")
_WEEK, _MINUTE = timedelta(days=7), 60
_MIDNIGHT = time(23, 59)
_NEARLY_FIRST = 1e-9  # the place 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentForm:
    """The texts of the fields; *after*: what happens after the due date, ends or late.

    The *points* are in the order of the exercises; *unread*: places that cannot be read.
    """

    title: str = ""
    opens: str = ""
    due: str = ""
    closes: str = ""
    after: str = "ends"
    late: str = "10"
    grace: str = "5"
    attempts: str = "0"
    variants: str = "own"
    hints: str = "free"
    hint_cost: str = "10"
    solution: str = "due"
    hides: bool = False
    exam: str = ""
    points: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """What a form says, and *notes* on what was decided where clocks are changed."""

    title: str
    policy: Policy
    entries: tuple[AssignmentEntry, ...]
    notes: tuple[str, ...]


class FormError(Exception):
    """A form cannot be read; *problems*: a sentence for each field, by its name."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = problems


def new_assignment_form(zone: ZoneInfo, now: datetime) -> AssignmentForm:
    """The form of a new assignment: due in a week, at the end of the day."""
    day = now.astimezone(zone).date() + _WEEK
    due = datetime.combine(day, _MIDNIGHT, zone)
    return AssignmentForm(due=field_text(due, zone))


def assignment_form_of(assignment: Assignment) -> AssignmentForm:
    """The form of an assignment as it is."""
    policy, zone = assignment.policy, assignment.policy.zone
    ends = policy.due is not None and policy.closes == policy.due
    return AssignmentForm(
        title=assignment.title,
        opens=field_text(policy.opens, zone),
        due=field_text(policy.due, zone),
        closes="" if ends else field_text(policy.closes, zone),
        after="ends" if ends else "late",
        late=f"{100 * policy.late:g}",
        grace=f"{policy.grace / _MINUTE:g}",
        attempts=str(policy.attempts),
        variants=policy.variants,
        hints=policy.hints,
        hint_cost=f"{100 * policy.hint_cost:g}",
        solution=policy.solution,
        hides=not policy.show_points,
        exam=str(policy.sitting or ""),
        points=typed_points(assignment.entries),
    )


def sent_form(sent: FormData) -> AssignmentForm:
    """The form as it was sent."""
    texts = {name: str(sent.get(name, "")) for name in (*_PLAIN, *_DATES)}
    ranks = {str(name): float(rank) for rank, name in enumerate(sent.getlist(ORDER))}
    listed = dict.fromkeys(str(name) for name in sent.getlist(CHOSEN))
    places = {name: text for name in listed if (text := str(sent.get(PLACE + name, "")).strip())}
    typed = {name: _place(text) for name, text in places.items()}
    chosen = sorted(listed, key=lambda name: typed.get(name) or ranks.get(name, math.inf))
    points = {name: str(sent.get(POINTS + name, "1")) for name in chosen}
    unread = {name: places[name] for name, place in typed.items() if place is None}
    return AssignmentForm(**texts, hides="hides" in sent, points=points, unread=unread)


def parse_form(form: AssignmentForm, zone: ZoneInfo, stored: Policy | None = None) -> Read:
    """What *form* says. A date whose text did not change stays the *stored* moment.

    Raises:
        FormError: with a sentence for each field that cannot be read.
    """
    reader = _Reader(form, zone, stored)
    found = reader.read()
    if reader.problems:
        raise FormError(reader.problems)
    return found


def form_dates_in_words(form: AssignmentForm, zone: ZoneInfo, now: datetime) -> Mapping[str, str]:
    """Each date of *form* in words, by its name; empty where there is none."""
    return {name: date_words(getattr(form, name), zone, now, ends=_DATES[name]) for name in _DATES}


def date_words(text: str, zone: ZoneInfo, now: datetime, *, ends: bool) -> str:
    """A date that was typed, in words, with what is decided where clocks are changed."""
    if not text.strip():
        return ""
    try:
        moment = read_moment(text.strip(), zone, ends=ends)
    except InputError as error:
        return sentence(str(error))
    words = in_words(moment.at, zone, now)
    return f"{words} ({moment.note})" if moment.note else words


class _Reader:
    """Reads the fields one by one, and remembers what is wrong with each."""

    def __init__(self, form: AssignmentForm, zone: ZoneInfo, stored: Policy | None) -> None:
        self.problems: dict[str, str] = {}
        self._form = form
        self._zone = zone
        self._stored = stored
        self._notes: list[str] = []

    def read(self) -> Read:
        form = self._form
        title = self._try("title", lambda: clean_name(form.title), "")
        none: tuple[AssignmentEntry, ...] = ()
        entries = self._try("exercises", self._entries, none)
        opens, due, closes = self._dates()
        policy = replace(self._rules(), opens=opens, due=due, closes=closes)
        return Read(title, policy, entries, tuple(self._notes))

    def _try(self, name: str, work: Callable[[], T], default: T) -> T:
        try:
            return work()
        except InputError as error:
            self.problems[name] = sentence(str(error))
            return default

    def _rules(self) -> Policy:
        form = self._form
        exam = self._number("exam", translate("the minutes of an exam"), 7 * 24 * 60) if form.exam else 0.0
        costs = form.hints == "cost" and not exam
        if exam and form.solution == "free":
            self.problems["solution"] = translate("In an exam, the solution can be shown after the due date, or never.")
        return Policy(
            zone=self._zone,
            late=self._number("late", translate("the percentage"), 100) / 100 if form.after == "late" else 0.0,
            grace=round(_MINUTE * self._number("grace", translate("the minutes of grace"), 24 * 60)),
            attempts=round(self._number("attempts", translate("the number of tries"), 1000)),
            variants=self._one_of("variants", _VARIANTS, "own"),
            hints="off" if exam else self._one_of("hints", _HINTS, "free"),
            hint_cost=self._number("hint_cost", translate("the percentage"), 100) / 100 if costs else 0.1,
            solution=self._one_of("solution", _SOLUTIONS, "due"),
            show_points=not form.hides,
            sitting=round(exam),
        )

    def _dates(self) -> tuple[datetime | None, datetime | None, datetime | None]:
        form = self._form
        opens, due = self._date("opens"), self._date("due")
        ends_later = form.after == "late" and not form.exam
        closes = self._date("closes") if ends_later else due
        self._check_dates(opens, due, closes)
        return opens, due, closes

    def _check_dates(self, opens: datetime | None, due: datetime | None, closes: datetime | None) -> None:
        if self._form.exam and due is None:
            self.problems.setdefault(
                "due", translate("An exam needs a due date: the moment at which everyone has to stop.")
            )
        if opens and due and due <= opens:
            self.problems["due"] = translate("The due date must be after the assignment opens.")
        if closes and closes < (due or opens or closes):
            self.problems["closes"] = translate("The last date for late answers must be after the others.")

    def _date(self, name: str) -> datetime | None:
        text = getattr(self._form, name).strip()
        stored: datetime | None = getattr(self._stored, name) if self._stored else None
        if not text:
            return None
        if stored and text == field_text(stored, self._zone):
            return stored  # with its seconds, and the hour that was decided on before
        moment = self._try(name, lambda: read_moment(text, self._zone, ends=_DATES[name]), None)
        if moment and moment.note:
            self._notes.append(sentence(moment.note))
        return moment.at if moment else None

    def _number(self, name: str, what: str, most: float) -> float:
        text = getattr(self._form, name).strip().removesuffix("%").strip().replace(",", ".")
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= most:
            empty = translate("and the field is empty")
            found = translate("not {text!r}", text=text[:20]) if text else empty
            form = noted("{what} must be from 0 to {most:,g}, {found}")
            self.problems[name] = sentence(translate(form, what=what, most=most, found=found))
            return 0.0
        return value

    def _one_of(self, name: str, choices: Sequence[T], default: T) -> T:
        text = getattr(self._form, name)
        for choice in choices:
            if choice == text:
                return choice
        known = [str(choice) for choice in choices]
        self.problems[name] = sentence(
            f"{name} must be {', '.join(known[:-1])} or {known[-1]}, not {text[:20]!r}{nearest(text[:20], known)}"
        )
        return default

    def _entries(self) -> tuple[AssignmentEntry, ...]:
        for name, text in self._form.unread.items():
            raise InputError(
                translate(
                    "the place of {name} must be a number such as 3, not {text!r}", name=name, text=text.strip()[:20]
                )
            )
        return tuple(AssignmentEntry(name, _points(name, text)) for name, text in self._form.points.items())


def _points(exercise: str, text: str) -> float:
    points = number_of_points(text)
    if math.isnan(points):
        raise InputError(
            translate(
                "the points of {exercise} must be a number such as 2.5, not {text!r}", exercise=exercise, text=text[:20]
            )
        )
    return points


def _place(text: str) -> float | None:
    """A place from 1, or None if *text* is not one."""
    typed = text.replace(",", ".")
    plain = typed.isascii() and typed.replace(".", "", 1).isdecimal()
    return max(float(typed), _NEARLY_FIRST) if plain else None
