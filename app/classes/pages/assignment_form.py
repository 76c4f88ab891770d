"""The forms of an assignment and of points, and the exercises that one may choose from."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, Self, TypeVar
from zoneinfo import ZoneInfo

from starlette.datastructures import FormData

from app.classes.pages.class_router import ClassForm, FormError
from app.classes.people.assignment_copies import field_text, in_words, read_moment
from app.classes.people.assignments import MOST_POINTS, Assignment, AssignmentEntry
from app.classes.people.persons import clean_name
from app.classes.people.policy import DATES, ENDS, TYPED_RULES, USUAL, ChoiceRule, NumberRule, Policy, Rule
from app.core.errors import InputError, input_error, nearest, sentence
from app.core.translation import localize, noted, translate
from app.core.units import in_english
from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.site.web.urls import exercise_url

# Names of fields; an exercise's id follows POINTS and PLACE. A browser with scripts sends ORDER.
CHOSEN, POINTS, PLACE, ORDER = "exercise", "points:", "place:", "order"

_ABOUT = noted("{kind}, level {level}, {minutes:g} min")
_CORE = noted("{kind}, level {level}, {minutes:g} min, core")


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerExercise:
    """An exercise in the list, and whether it is chosen."""

    id: str
    href: str
    title: str
    about: str
    chosen: bool
    points: str


def chapters_of(catalog: Catalog, points: Mapping[str, str]) -> tuple[tuple[str, Sequence[PickerExercise]], ...]:
    """The title and the exercises of every chapter; those in *points* are chosen, with those points.

    Chosen exercises that the site does not have anymore are in a chapter of their own.
    """
    found = [
        (topic.title, [_choice(one, points.get(one.id), is_core=one.id in topic.on_path) for one in topic.exercises])
        for topic in catalog.topics
    ]
    listed = {one.id for one in catalog.exercises}
    gone = [_gone(catalog, name, worth) for name, worth in points.items() if name not in listed]
    return (*found, (translate("No longer listed"), gone)) if gone else tuple(found)


def _gone(catalog: Catalog, name: str, points: str) -> PickerExercise:
    """A chosen exercise that no chapter lists anymore."""
    if name in catalog.by_id:
        return _choice(catalog.by_id[name], points, is_core=False)
    about = translate("not on this server")
    return PickerExercise(id=name, href="", title=name, about=about, chosen=True, points=points)


def picked_in_order(catalog: Catalog, form: "AssignmentForm") -> tuple[tuple[str, str, str], ...]:
    """The exercises of *form* in their order: the id, the title (or again the id), and the place as it was typed."""
    titles = {one.id: one.title for one in catalog.by_id.values()}
    return tuple(
        (name, titles.get(name, name), form.unread.get(name, str(number))) for number, name in enumerate(form.points, 1)
    )


def _choice(exercise: Exercise, points: str | None, *, is_core: bool) -> PickerExercise:
    form = _CORE if is_core else _ABOUT
    return PickerExercise(
        id=exercise.id,
        href=exercise_url(exercise.id),
        title=exercise.title,
        about=translate(form, kind=translate(exercise.kind_title), level=exercise.level, minutes=exercise.minutes),
        chosen=points is not None,
        points=points or "1",
    )


def number_of_points(text: str) -> float:
    """The number that was typed, in the form of the page's language or another; NaN if none was.

    >>> number_of_points(" 2,5 "), number_of_points("1,000")
    (2.5, 1000.0)
    """
    try:
        plain = in_english(text.strip())
    except ValueError as error:
        raise InputError(localize(str(error))) from error
    try:
        return float(plain)
    except ValueError:
        return math.nan


def read_points(text: str) -> float | None:
    """The points that were typed; none if nothing was."""
    if not text.strip():
        return None
    points = number_of_points(text)
    if not 0 <= points <= MOST_POINTS:
        raise input_error(
            "points must be a number from 0 to {most_points:,.0f}, not {text!r}",
            most_points=MOST_POINTS,
            text=text.strip()[:40],
        )
    return points


T = TypeVar("T")
_PLAIN = ("title", *DATES, "after", "told", "seen")
_WEEK = timedelta(days=7)
_MIDNIGHT = time(23, 59)
_NEARLY_FIRST = 1e-9  # the place 0
_TICKED = "yes"


class AssignmentForm(ClassForm):
    """The texts of the fields; *after*: what happens after the due date, ends or late.

    *rules* are by name, as they are typed. The *points* are in the order of the exercises; *unread*: places
    that cannot be read. *told* are notes that were confirmed, and *seen* is the version that was changed.
    """

    title: str = ""
    opens: str = ""
    due: str = ""
    closes: str = ""
    after: str = "ends"
    rules: Mapping[str, str] = {}
    points: Mapping[str, str] = {}
    unread: Mapping[str, str] = {}
    told: str = ""
    seen: str = ""

    @classmethod
    def read(cls, sent: FormData) -> Self:
        """The form that was *sent*."""
        ranks = {str(name): float(rank) for rank, name in enumerate(sent.getlist(ORDER))}
        listed = dict.fromkeys(str(name) for name in sent.getlist(CHOSEN))
        places = {name: text for name in listed if (text := str(sent.get(PLACE + name, "")).strip())}
        typed = {name: _place_number(text) for name, text in places.items()}
        chosen = sorted(listed, key=lambda name: typed.get(name) or ranks.get(name, math.inf))
        return cls(
            **{name: str(sent.get(name, "")) for name in _PLAIN},
            rules={name: str(sent.get(rule.typed or name, "")) for name, rule in TYPED_RULES.items()},
            points={name: str(sent.get(POINTS + name, "1")) for name in chosen},
            unread={name: places[name] for name, place in typed.items() if place is None},
        )

    def says_the_same(self, other: "AssignmentForm") -> bool:
        """Whether both would store the same assignment."""
        mine, theirs = (
            [getattr(form, name).strip() for name in ("title", *DATES, "after")]
            + [form.rules.get(name, "").strip() for name in TYPED_RULES]
            for form in (self, other)
        )
        return mine == theirs and [*self.points.items()] == [*other.points.items()]

    def words(self, zone: ZoneInfo, now: datetime) -> Mapping[str, str]:
        """Each date in words, by its name; empty where there is none."""
        return {name: date_words(getattr(self, name), zone, now, ends=ends) for name, ends in ENDS.items()}


@dataclass(frozen=True, slots=True)
class RuleField:
    """The field of a rule as it is shown: a number with *help*, a choice of *options*, or a switch."""

    name: str
    label: str
    text: str
    help: str = ""
    options: tuple[tuple[str, str], ...] = ()
    is_switch: bool = False


@dataclass(frozen=True, slots=True)
class AssignmentDraft:
    """What a form says, and *notes* on what was decided where clocks are changed."""

    title: str
    policy: Policy
    entries: tuple[AssignmentEntry, ...]
    notes: tuple[str, ...]


def new_assignment_form(zone: ZoneInfo, now: datetime) -> AssignmentForm:
    """The form of a new assignment: due in a week, at the end of the day."""
    day = now.astimezone(zone).date() + _WEEK
    due = datetime.combine(day, _MIDNIGHT, zone)
    return AssignmentForm(due=field_text(due, zone), rules={**_rule_texts(USUAL), "late": "10"})


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
        rules=_rule_texts(policy),
        points={entry.exercise: f"{entry.points:g}" for entry in assignment.entries},
        seen=assignment.version,
    )


def rule_fields(form: AssignmentForm) -> Mapping[str, RuleField]:
    """The field of each rule, by its name."""
    return {name: _rule_field(name, rule, form.rules.get(name, "")) for name, rule in TYPED_RULES.items()}


def parse_form(form: AssignmentForm, zone: ZoneInfo, stored: Policy | None = None) -> AssignmentDraft:
    """What *form* says. A date whose text did not change stays the *stored* moment."""
    reader = _Reader(form, zone, stored)
    found = reader.read()
    if reader.problems:
        raise FormError(reader.problems)
    return found


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

    def read(self) -> AssignmentDraft:
        form = self._form
        title = self._try("title", lambda: clean_name(form.title), "")
        none: tuple[AssignmentEntry, ...] = ()
        entries = self._try("exercises", self._entries, none)
        rules = self._rules()
        dates = self._dates(exam=bool(rules["sitting"]))
        return AssignmentDraft(title, Policy(zone=self._zone, **rules, **dates), entries, tuple(self._notes))

    def _try(self, name: str, work: Callable[[], T], default: T) -> T:
        try:
            return work()
        except InputError as error:
            self.problems[name] = sentence(str(error))
            return default

    def _rules(self) -> dict[str, Any]:
        """The rules but the dates; those that another rule makes pointless are the usual ones."""
        texts = {name: text.strip() for name, text in self._form.rules.items()}
        exam = bool(self._rule("sitting", TYPED_RULES["sitting"], texts.get("sitting", "")))
        idle = {"late"} if self._form.after != "late" else set()
        idle |= {"hint_cost"} if exam or texts.get("hints") != "cost" else set()
        rules = {
            name: getattr(USUAL, name) if name in idle else self._rule(name, rule, texts.get(name, ""))
            for name, rule in TYPED_RULES.items()
        }
        if exam and rules["solution"] == "free":
            self.problems["solution"] = translate("In an exam, the solution can be shown after the due date, or never.")
        return {**rules, "hints": "off"} if exam else rules

    def _rule(self, name: str, rule: Rule, text: str) -> object:
        field, usual = rule.typed or name, getattr(USUAL, name)
        if isinstance(rule, NumberRule):
            value = rule.value(self._number(field, rule, text)) if text or not rule.blank else 0.0
            return round(value) if isinstance(usual, int) else value
        if isinstance(rule, ChoiceRule):
            return self._try(field, lambda: _option(field, rule, text), usual)
        return not text

    def _dates(self, *, exam: bool) -> dict[str, Any]:
        opens, due = self._date("opens"), self._date("due")
        closes = self._date("closes") if self._form.after == "late" and not exam else due
        if exam and due is None:
            self.problems.setdefault(
                "due", translate("An exam needs a due date: the moment at which everyone has to stop.")
            )
        if opens and due and due <= opens:
            self.problems["due"] = translate("The due date must be after the assignment opens.")
        if closes and closes < (due or opens or closes):
            self.problems["closes"] = translate("The last date for late answers must be after the others.")
        return {"opens": opens, "due": due, "closes": closes}

    def _date(self, name: str) -> datetime | None:
        text = getattr(self._form, name).strip()
        stored: datetime | None = getattr(self._stored, name) if self._stored else None
        if not text:
            return None
        if stored and text == field_text(stored, self._zone):
            return stored  # with its seconds, and the hour that was decided on before
        moment = self._try(name, lambda: read_moment(text, self._zone, ends=ENDS[name]), None)
        if moment and moment.note:
            self._notes.append(sentence(moment.note))
        return moment.at if moment else None

    def _number(self, field: str, rule: NumberRule, typed: str) -> float:
        text = typed.removesuffix("%").strip()
        value = self._try(field, lambda: number_of_points(text), math.nan)
        if not 0 <= value <= rule.most:
            empty = translate("and the field is empty")
            found = translate("not {text!r}", text=text[:20]) if text else empty
            form = noted("{what} must be from 0 to {most:,g}, {found}")
            self.problems[field] = sentence(translate(form, what=translate(rule.what), most=rule.most, found=found))
            return 0.0
        return value

    def _entries(self) -> tuple[AssignmentEntry, ...]:
        for name, text in self._form.unread.items():
            raise input_error(
                "the place of {name} must be a number such as 3, not {text!r}", name=name, text=text.strip()[:20]
            )
        return tuple(AssignmentEntry(name, _typed_worth(name, text)) for name, text in self._form.points.items())


def _rule_field(name: str, rule: Rule, text: str) -> RuleField:
    field, label = rule.typed or name, translate(rule.label)
    if isinstance(rule, NumberRule):
        return RuleField(field, label, text, help=translate(rule.help))
    if isinstance(rule, ChoiceRule):
        return RuleField(field, label, text, options=tuple((key, translate(one)) for key, one in rule.options.items()))
    return RuleField(field, label, text, is_switch=True)


def _rule_texts(policy: Policy) -> Mapping[str, str]:
    """The rules of *policy* as they are typed, by name."""
    return {name: _rule_text(rule, getattr(policy, name)) for name, rule in TYPED_RULES.items()}


def _rule_text(rule: Rule, value: Any) -> str:
    if isinstance(rule, NumberRule):
        return rule.text(value)
    return value if isinstance(rule, ChoiceRule) else "" if value else _TICKED


def _option(field: str, rule: ChoiceRule, text: str) -> str:
    known = list(rule.options)
    if text not in known:
        *first, last = known
        raise input_error(
            "{field} must be {first} or {last}, not {text!r}{near}",
            field=field,
            first=", ".join(first),
            last=last,
            text=text[:20],
            near=nearest(text[:20], known),
        )
    return text


def _typed_worth(exercise: str, text: str) -> float:
    points = number_of_points(text)
    if math.isnan(points):
        raise input_error(
            "the points of {exercise} must be a number such as 2.5, not {text!r}", exercise=exercise, text=text[:20]
        )
    return points


def _place_number(text: str) -> float | None:
    """A place from 1, or None if *text* is not one."""
    typed = text.replace(",", ".")
    plain = typed.isascii() and typed.replace(".", "", 1).isdecimal()
    return max(float(typed), _NEARLY_FIRST) if plain else None
