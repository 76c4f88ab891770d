"""The dates of a person, and what an answer is worth: pure functions, used everywhere."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints
from zoneinfo import ZoneInfo

from pydantic import Field

from app.core.errors import InputError, input_error
from app.core.translation import noted

Variants = Literal["own", "same", "many"]
Hints = Literal["free", "cost", "off"]
Solution = Literal["free", "due", "off"]
Phase = Literal["before", "unstarted", "open", "late", "closed"]
_MOST_STEPS = 60  # days late, in a statement
MOST_FACTOR = 4.0  # of the time in exams
_FACTOR = re.compile(r"[x×]?(?<!\s)\s*+(?P<number>\d{1,3}(?:[.,]\d{1,4})?)\s*(?P<percent>%?)", re.ASCII | re.IGNORECASE)
_TINY = timedelta(microseconds=1)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRule:
    """A rule that is a number: its *label* and *help* in a form, and *what* an error calls it.

    It is *times* as much as what is typed, of which *per* make one, and at most *most* of that. *typed* is its
    name in the form, if that is another; *blank*: nothing typed is 0.
    """

    label: str
    what: str
    most: float
    help: str = ""
    times: float = 1.0
    per: float = 1.0
    typed: str = ""
    blank: bool = False

    def text(self, value: float) -> str:
        """*value* as it is typed."""
        return "" if self.blank and not value else f"{value * self.per / self.times:g}"

    def value(self, typed: float) -> float:
        """The rule for a number that was *typed*."""
        return typed * self.times / self.per


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRule:
    """A rule that is one of *options*, by key, with what a form calls each."""

    label: str
    options: Mapping[str, str]
    typed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchRule:
    """A rule that is on unless it is ticked."""

    label: str
    typed: str


Rule = NumberRule | ChoiceRule | SwitchRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of an assignment, with its dates for everyone.

    *late* is the share of the points lost per day begun after *due*; *grace* seconds cost nothing, and after *closes*
    nothing counts, nor after the class was *archived*. *attempts* is the number of answers that count (0: all). If
    *hints* cost, each takes *hint_cost* of the points. *solution* says when the worked solution may be seen. With a
    *sitting* of more than 0 minutes it is an exam: a person starts it, and has that long.

    A rule is added here alone: forms, JSON, what is stored, and the list of what someone else has changed are
    made of these fields.
    """

    zone: ZoneInfo = ZoneInfo("UTC")
    opens: datetime | None = None
    due: datetime | None = None
    closes: datetime | None = None
    late: Annotated[
        float,
        Field(description="share of the points lost per day begun, 0 to 1"),
        NumberRule(label=noted("Percent lost per day"), what=noted("the percentage"), per=100, most=100),
    ] = 0.0
    grace: Annotated[
        int,
        Field(ge=0, le=86_400),
        NumberRule(
            label=noted("Grace"),
            help=noted("minutes after the due date that cost nothing"),
            what=noted("the minutes of grace"),
            times=60,
            most=24 * 60,
        ),
    ] = 300
    attempts: Annotated[
        int,
        Field(description="answers that count; 0: all"),
        NumberRule(
            label=noted("Tries that count"),
            help=noted("per exercise; 0: all. The best one gives the points. Later ones are practice."),
            what=noted("the number of tries"),
            most=1_000,
        ),
    ] = 0
    variants: Annotated[
        Variants,
        ChoiceRule(
            label=noted("Numbers in the exercises"),
            options={
                "own": noted("Every student has numbers of their own"),
                "same": noted("The same for the whole class"),
                "many": noted("Any: students may draw new numbers, and the best answer counts"),
            },
        ),
    ] = "own"
    hints: Annotated[
        Hints,
        ChoiceRule(
            label=noted("Hints"),
            options={"free": noted("Free"), "cost": noted("Each costs a share of the points"), "off": noted("None")},
        ),
    ] = "free"
    hint_cost: Annotated[
        float,
        Field(description="share of the points per hint"),
        NumberRule(
            label=noted("Cost of a hint"),
            help=noted("% of the points of the exercise, where hints cost"),
            what=noted("the percentage"),
            per=100,
            most=100,
        ),
    ] = 0.1
    solution: Annotated[
        Solution,
        Field(description="when the worked solution is shown"),
        ChoiceRule(
            label=noted("Worked solution"),
            options={
                "free": noted("At any time; afterwards the exercise earns nothing"),
                "due": noted("After the due date"),
                "off": noted("Never"),
            },
        ),
    ] = "due"
    show_points: Annotated[
        bool,
        Field(description="false: points are hidden until due"),
        SwitchRule(label=noted("Hide verdicts and points until the due date"), typed="hides"),
    ] = True
    sitting: Annotated[
        int,
        Field(description="minutes of an exam from its start; 0: no exam"),
        NumberRule(
            label=noted("Exam"),
            help=noted("minutes from the moment a student starts it; empty: no exam"),
            what=noted("the minutes of an exam"),
            most=7 * 24 * 60,
            typed="exam",
            blank=True,
        ),
    ] = 0
    archived: datetime | None = None


RULES = tuple(name for name in Policy.__slots__ if name not in ("zone", "archived"))
ENDS = {"opens": False, "due": True, "closes": True}  # the dates, and whether something ends then
DATES = tuple(ENDS)
_HINTS = get_type_hints(Policy, include_extras=True)
# What a program sends for each rule but the dates, and how it is typed, by its name.
RULE_TYPES: Mapping[str, Any] = {name: _HINTS[name] for name in RULES if name not in DATES}
TYPED_RULES: Mapping[str, Rule] = {
    name: next(one for one in kind.__metadata__ if isinstance(one, Rule)) for name, kind in RULE_TYPES.items()
}
USUAL = Policy()
_UNLIMITED = ("grace",)  # a longer one is reckoned with, though nobody can send it


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDates:
    """The dates of a *group* of the class; none: everyone's date holds."""

    group: str
    opens: datetime | None = None
    due: datetime | None = None
    closes: datetime | None = None

    def policy(self, general: Policy) -> Policy:
        """The policy *general* as it is for the group.

        Without a close of its own, the group has as long after its due date as everyone has.
        """
        closes = self.closes or general.closes
        if self.due and general.closes and not self.closes:
            after = general.closes - general.due if general.due else timedelta(0)
            closes = self.due + after if general.due else max(general.closes, self.due)
        return replace(general, opens=self.opens or general.opens, due=self.due or general.due, closes=closes)

    def check(self, general: Policy) -> None:
        """Refuse dates that cannot be, beside those of the policy *general*.

        Raises:
            InputError: there is none, or one is before one that it has to follow.
        """
        if not (self.opens or self.due or self.closes):
            raise input_error("the group {group} needs a date of its own", group=self.group)
        try:
            check_policy(self.policy(general))
        except InputError as error:
            raise input_error("group {group}: {error}", group=self.group, error=error) from None


@dataclass(frozen=True, slots=True)
class Dates:
    """The dates of one person; None where one is not set. *waits*: an exam not yet started.

    From *archived* on nothing counts, without grace.
    """

    opens: datetime | None
    due: datetime | None
    closes: datetime | None
    waits: bool = False
    archived: datetime | None = None

    def phase(self, at: datetime, grace: int = 0) -> Phase:
        """The phase of the assignment for this person at *at*."""
        if self.opens and at < self.opens:
            return "before"
        if at > self._last(grace):
            return "closed"
        if self.waits:
            return "unstarted"
        return "late" if self.due and at > self.due + timedelta(seconds=grace) else "open"

    def window(self, grace: int) -> tuple[datetime, datetime]:
        """The first and the last moment at which an answer of this person counts."""
        if self.waits:
            return _LAST, _FIRST
        return self.opens or _FIRST, self._last(grace)

    def _last(self, grace: int) -> datetime:
        """The last moment at which an answer counts, anyone who gave it."""
        last = self.closes + timedelta(seconds=grace) if self.closes else _LAST
        return min(last, self.archived - _TINY) if self.archived else last


class CountableAnswer(NamedTuple):
    """An answer that may count; *score* is 0 to 1."""

    at: datetime
    score: float
    hints: int
    revealed: bool


class Share(NamedTuple):
    """What an exercise earned, 0 to 1; whether a part was lost to lateness; and the *tries* that count.

    *at* is when the answer that earned it was given: the best, or without one the last.
    """

    earned: float
    late: bool
    tries: int
    at: datetime | None


def dates_of(
    policy: Policy, extended: datetime | None = None, began: datetime | None = None, factor: float = 1.0
) -> Dates:
    """The dates of a person with an extension to *extended*, whose exam *began* then.

    An extension moves the due date, and the close where that is earlier. An exam lasts *factor* times as long as for
    others who began then, and with an extension until then, if that is longer: neither takes time away. Nothing goes
    on after the class was archived.
    """
    dates = _personal_dates(policy, extended, began, factor)
    if policy.archived is None:
        return dates
    stop = min(dates.closes or policy.archived, policy.archived)
    due = min(dates.due or stop, stop) if policy.sitting else dates.due
    return replace(dates, due=due, closes=stop, archived=policy.archived)


def _personal_dates(policy: Policy, extended: datetime | None, began: datetime | None, factor: float) -> Dates:
    due, closes = policy.due, policy.closes
    if extended:
        due = max(due, extended) if due else None
        closes = max(closes, extended) if closes else None
    if not policy.sitting:
        return Dates(policy.opens, due, closes)
    last = closes or due
    if began is None:
        return Dates(policy.opens, last, last, waits=True)
    usual = timedelta(minutes=policy.sitting)
    span = min(usual, last - began) if last else usual
    end = began + (span * factor if span > timedelta(0) else span)  # it may have begun after the close
    stop = max(end, extended) if extended else end
    return Dates(policy.opens, stop, stop)


def last_exam_end(policy: Policy, factor: float) -> datetime | None:
    """When an exam is over for everyone, if the slowest has *factor* times the usual time; None: it is open."""
    last = policy.closes or policy.due
    end = last + (factor - 1.0) * timedelta(minutes=policy.sitting) if last else None
    return min(end or policy.archived, policy.archived) if policy.archived else end


def read_factor(text: str) -> float:
    """A factor of the time in exams, as one types it: 1.5, 1,5, x1.5 or 150 %; empty: 1.

    Raises:
        InputError: it is not a number from 1 to 4.
    """
    found = _FACTOR.fullmatch(text.strip())
    if text.strip() and found is None:
        raise input_error(
            "a factor of the time in exams is a number such as 1.25, 1.5 or 2, not {text!r}", text=text[:40]
        )
    number = float(found["number"].replace(",", ".")) / (100.0 if found["percent"] else 1.0) if found else 1.0
    return check_factor(number)


def check_factor(factor: float) -> float:
    """*factor*, if it can be one of the time in exams.

    Raises:
        InputError: it is less than 1, which would take time away, or too large.
    """
    if not 1.0 <= factor <= MOST_FACTOR:
        raise input_error(
            "a factor of the time in exams is from 1 (as everyone) to {most:g}, not {factor:g}",
            most=MOST_FACTOR,
            factor=factor,
        )
    return factor


def worth(policy: Policy, dates: Dates, at: datetime) -> float:
    """The share of the points that an answer at *at* may still earn.

    A day is one of the calendar in the zone of the class: an answer at the same time of day as
    the due date, one day later, is one day late, also where clocks were changed in between.
    """
    phase = dates.phase(at, policy.grace)
    if phase in ("before", "closed", "unstarted"):
        return 0.0
    if phase == "open" or dates.due is None:
        return 1.0
    return max(0.0, 1.0 - policy.late * days_late(dates.due, at, policy.zone))


def worth_steps(policy: Policy, dates: Dates) -> Sequence[tuple[datetime, float]] | None:
    """Until when an answer in the window of a person is worth how much: in order, to its end.

    None if there are too many steps, or one ends in an hour that clocks skip or repeat: then an
    answer is worth what `worth` says, and not always less than an earlier one.
    """
    _, last = dates.window(policy.grace)
    if dates.due is None or dates.due + timedelta(seconds=policy.grace) >= last:
        return [(last, 1.0)]
    steps = [(dates.due + timedelta(seconds=policy.grace), 1.0)]
    due = dates.due.astimezone(policy.zone).replace(tzinfo=None)
    for days in range(1, _MOST_STEPS):
        wall = (due + timedelta(days=days)).replace(tzinfo=policy.zone)
        part = max(0.0, 1.0 - policy.late * days)
        if part in (0.0, 1.0):  # of no late day, or of all later ones
            return [*steps, (last, part)]
        if wall.utcoffset() != wall.replace(fold=1).utcoffset():
            return None
        if wall.astimezone(UTC) >= last:
            return [*steps, (last, part)]
        if wall.astimezone(UTC) > steps[-1][0]:
            steps.append((wall.astimezone(UTC), part))
    return None


def days_late(due: datetime, at: datetime, zone: ZoneInfo) -> int:
    """The days begun between *due* and a later *at*, in the calendar of *zone*."""
    local_due, local_at = due.astimezone(zone), at.astimezone(zone)
    whole = (local_at - _TINY).replace(tzinfo=None) - local_due.replace(tzinfo=None)
    return max(1, whole.days + 1)


def best_share(policy: Policy, dates: Dates, answers: Iterable[CountableAnswer]) -> Share:
    """The best of *answers*, which are in order; only the first *attempts* of them count."""
    best, late, counted, given = 0.0, False, 0, _FIRST
    first, last = dates.window(policy.grace)
    for answer in answers:
        if policy.attempts and counted == policy.attempts:
            break
        if not first <= answer.at <= last:
            continue
        counted += 1
        if best == 0.0:
            given = max(given, answer.at)
        earned = answer.score * unaided_share(policy, answer)
        if earned > best:  # it can be: no answer is worth more than its score
            part = worth(policy, dates, answer.at)
            if earned * part > best:
                best, late, given = earned * part, part < 1.0, answer.at
    return Share(best, late, counted, given if counted else None)


def counts(dates: Dates, policy: Policy, at: datetime) -> bool:
    """Whether an answer at *at* is one of those that count."""
    first, last = dates.window(policy.grace)
    return first <= at <= last


def unaided_share(policy: Policy, answer: CountableAnswer) -> float:
    """The share of the points that is left after the hints, and nothing after the solution."""
    if answer.revealed:
        return 0.0
    return max(0.0, 1.0 - policy.hint_cost * answer.hints) if policy.hints == "cost" else 1.0


def check_policy(policy: Policy) -> None:
    """Refuse rules that cannot be.

    Raises:
        InputError: one of them is out of range, or a date is before one that it has to follow.
    """
    for name, rule in TYPED_RULES.items():
        value = getattr(policy, name)
        if isinstance(rule, ChoiceRule) and value not in rule.options:
            *first, last = rule.options
            raise InputError(f"{name} must be {', '.join(first)} or {last}")
        if isinstance(rule, NumberRule) and name not in _UNLIMITED and not 0 <= value <= rule.value(rule.most):
            raise InputError(f"{name} must be from 0 to {rule.value(rule.most):,g}, not {value:,g}")
    _check_order(policy)


def _check_order(policy: Policy) -> None:
    dates = [(name, date) for name in DATES if (date := getattr(policy, name)) is not None]
    for (earlier, first), (later, second) in zip(dates, dates[1:], strict=False):
        if first > second:
            raise InputError(
                f"the assignment {later} on {second.astimezone(policy.zone):%b %d, %Y, %H:%M}, before it {earlier}"
                if later == "closes"
                else f"{later} must not be before {earlier}"
            )
