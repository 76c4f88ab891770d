"""When an answer counts, and for how much: with clocks that are changed, extensions and exams."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import Session

from app.classes.people.assignments import AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import create_class, number_of
from app.classes.people.counted_answers import dates_for, extend
from app.classes.people.persons import new_person
from app.classes.people.policy import (
    CountableAnswer,
    Dates,
    Policy,
    best_share,
    counts,
    dates_of,
    days_late,
    unaided_share,
    worth,
    worth_steps,
)
from app.core.errors import InputError
from tests.each import each

BERLIN = ZoneInfo("Europe/Berlin")
DUE = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
RULES = (
    Policy(),
    Policy(due=DUE, late=0.2, attempts=2),
    Policy(opens=DUE - DAY, due=DUE, closes=DUE + DAY, late=0.1, hints="cost", hint_cost=0.3),
    Policy(opens=DUE - 2 * DAY, closes=DUE, sitting=90, grace=0, attempts=3),
)
STEPS = [
    days * DAY + seconds * SECOND for days in (-3, -2, -1, 0, 1, 2) for seconds in (-1, 0, 299, 300, 301, 5400, 5401)
]


def answer(at: datetime, score: float = 1.0, hints: int = 0, *, revealed: bool = False) -> CountableAnswer:
    return CountableAnswer(at, score, hints, revealed)


@each(
    ("due", "hours"),
    [
        # The nights in which clocks go back and forward: this day has 25 hours, and 23.
        (datetime(2026, 10, 24, 23, 59, tzinfo=BERLIN), 25),
        (datetime(2026, 3, 28, 23, 59, tzinfo=BERLIN), 23),
        (datetime(2026, 6, 1, 23, 59, tzinfo=BERLIN), 24),
    ],
)
def test_a_day_late_ends_at_the_same_time_of_day_also_where_clocks_are_changed(due: datetime, hours: int) -> None:
    last = due.astimezone(UTC) + hours * HOUR
    assert days_late(due, last, BERLIN) == 1
    assert days_late(due, last + SECOND, BERLIN) == 2
    assert days_late(due, due.astimezone(UTC) + SECOND, BERLIN) == 1


def test_each_day_late_costs_its_share_and_after_the_close_nothing_counts() -> None:
    policy = Policy(zone=BERLIN, due=DUE, closes=DUE + 3 * DAY, late=0.25)
    dates = dates_of(policy)
    after = [timedelta(0), HOUR, DAY + HOUR, 2 * DAY + HOUR, 3 * DAY + HOUR]
    assert [worth(policy, dates, DUE + wait) for wait in after] == [1.0, 0.75, 0.5, 0.25, 0.0]


@each(
    "policy",
    [
        *RULES,
        Policy(due=DUE, late=0.3),
        Policy(due=DUE, late=0.1, grace=3 * 86_400, closes=DUE + 6 * DAY),
        Policy(zone=BERLIN, due=datetime(2026, 10, 23, 21, 59, tzinfo=UTC), late=0.1),
        Policy(zone=BERLIN, due=datetime(2026, 3, 26, 22, 59, tzinfo=UTC), late=0.1),
        Policy(zone=ZoneInfo("Pacific/Apia"), due=datetime(2011, 12, 28, 8, tzinfo=UTC), late=0.5),
    ],
)
def test_worth_goes_down_in_steps_that_say_the_same_as_the_rules(policy: Policy) -> None:
    dates = dates_of(policy, began=DUE - HOUR if policy.sitting else None)
    steps = worth_steps(policy, dates)
    assert steps is not None
    due = dates.due or DUE
    moments = [due + hours * HOUR / 4 for hours in range(-200, 2000)]
    moments += [until + step for until, _ in steps[:-1] for step in (-SECOND, 0 * SECOND, SECOND)]
    for at in moments:
        if counts(dates, policy, at):
            assert next(part for until, part in steps if at <= until) == worth(policy, dates, at)


@each(
    ("due", "late"),
    [
        (datetime(2026, 10, 23, 0, 30, tzinfo=UTC), 0.1),  # half past two comes twice on the 25th
        (datetime(2026, 3, 27, 1, 30, tzinfo=UTC), 0.1),  # and on March 29 not at all
        (DUE, 0.001),  # a thousand steps
    ],
)
def test_worth_that_does_not_go_down_in_few_steps_has_none(due: datetime, late: float) -> None:
    policy = Policy(zone=BERLIN, due=due, late=late)
    assert worth_steps(policy, dates_of(policy)) is None
    assert worth_steps(replace(policy, late=0.0), dates_of(policy)) is not None


def test_the_grace_costs_nothing_and_ends_on_its_last_second() -> None:
    policy = Policy(due=DUE, closes=DUE + DAY, late=0.5, grace=300)
    dates = dates_of(policy)
    assert worth(policy, dates, DUE + timedelta(seconds=300)) == 1.0
    assert worth(policy, dates, DUE + timedelta(seconds=301)) == 0.5
    assert dates.phase(DUE + DAY + timedelta(seconds=300), 300) == "late"
    assert dates.phase(DUE + DAY + timedelta(seconds=301), 300) == "closed"


def test_an_extension_over_a_closed_date_opens_it_for_one_person_without_a_loss() -> None:
    policy = Policy(due=DUE, closes=DUE + DAY, late=0.5)
    at = DUE + 5 * DAY
    assert worth(policy, dates_of(policy), at) == 0.0
    assert worth(policy, dates_of(policy, extended=DUE + 6 * DAY), at) == 1.0
    # An extension that ends before the close moves the due date alone.
    assert dates_of(policy, extended=DUE + HOUR) == Dates(None, DUE + HOUR, DUE + DAY)


def test_an_extension_never_takes_time_away() -> None:
    policy = Policy(due=DUE, closes=DUE + DAY)
    assert dates_of(policy, extended=DUE - 3 * DAY) == dates_of(policy)


def test_an_exam_ends_with_its_minutes_or_its_window() -> None:
    policy = Policy(opens=DUE - 2 * HOUR, due=DUE, closes=DUE, sitting=45, grace=0)
    assert dates_of(policy).waits
    early = dates_of(policy, began=DUE - 2 * HOUR)
    assert early.due == DUE - 2 * HOUR + timedelta(minutes=45)
    assert worth(policy, early, DUE - HOUR) == 0.0
    assert dates_of(policy, began=DUE - timedelta(minutes=10)).due == DUE
    assert worth(policy, dates_of(policy), DUE - HOUR) == 0.0, "an exam that was not started"


def test_an_extension_of_an_exam_is_the_moment_to_stop() -> None:
    policy = Policy(due=DUE, closes=DUE, sitting=45)
    began = DUE - timedelta(minutes=30)
    assert dates_of(policy, DUE + HOUR, began).due == DUE + HOUR


def test_the_best_answer_counts_and_only_the_first_tries() -> None:
    policy = Policy(due=DUE, attempts=2)
    dates = dates_of(policy)
    tries = [answer(DUE - 3 * HOUR, 0.25), answer(DUE - 2 * HOUR, 0.75), answer(DUE - HOUR, 1.0)]
    assert best_share(policy, dates, tries).earned == 0.75
    assert best_share(Policy(due=DUE), dates, tries).earned == 1.0


@each("policy", RULES)
def test_an_answer_counts_while_the_assignment_is_open_or_late_and_the_best_one_is_worth_most(policy: Policy) -> None:
    draw = random.Random(3)
    for began in (None, DUE - DAY, DUE - 2 * DAY):
        dates = dates_of(policy, began=began)
        for _ in range(50):
            answers = [
                answer(DUE + draw.choice(STEPS), draw.random(), draw.randrange(4)) for _ in range(draw.randrange(6))
            ]
            phases = [dates.phase(one.at, policy.grace) for one in answers]
            counting = [one for one, phase in zip(answers, phases, strict=True) if phase in ("open", "late")]
            assert [one for one in answers if counts(dates, policy, one.at)] == counting
            tried = counting[: policy.attempts or None]
            worths = [one.score * unaided_share(policy, one) * worth(policy, dates, one.at) for one in tried]
            share = best_share(policy, dates, answers)
            assert share.earned == pytest.approx(max(worths, default=0.0))
            assert share.tries == len(tried)


def test_an_answer_outside_of_the_dates_uses_up_no_try() -> None:
    policy = Policy(opens=DUE - DAY, due=DUE, closes=DUE, attempts=1)
    dates = dates_of(policy)
    before = answer(DUE - 2 * DAY, 0.0)
    assert not counts(dates, policy, before.at)
    assert best_share(policy, dates, [before, answer(DUE - HOUR, 1.0)]).earned == 1.0


def test_a_right_answer_late_may_be_worth_less_than_a_half_right_one_in_time() -> None:
    policy = Policy(due=DUE, late=0.75)
    dates = dates_of(policy)
    share = best_share(policy, dates, [answer(DUE - HOUR, 0.5), answer(DUE + HOUR, 1.0)])
    assert (share.earned, share.late) == (0.5, False)
    late = best_share(policy, dates, [answer(DUE + HOUR, 1.0)])
    assert (late.earned, late.late) == (0.25, True)


def test_hints_cost_where_they_cost_and_a_solution_leaves_nothing() -> None:
    costly = Policy(hints="cost", hint_cost=0.25)
    dates = dates_of(costly)
    assert best_share(costly, dates, [answer(DUE, hints=3)]).earned == 0.25
    assert best_share(costly, dates, [answer(DUE, hints=9)]).earned == 0.0
    assert best_share(Policy(), dates, [answer(DUE, hints=3)]).earned == 1.0
    assert best_share(Policy(), dates, [answer(DUE, revealed=True)]).earned == 0.0


def test_an_extension_is_stored_for_one_person_and_read_back(session: Session) -> None:
    class_id = number_of(create_class(session, "secret", "Ring", "Europe/Berlin"))
    given = [AssignmentEntry("collectives/ring", 2.0), AssignmentEntry("collectives/tree", 1.5)]
    number = create_assignment(session, class_id, "Week 1", Policy(due=DUE, closes=DUE), given)
    ada, alan = (number_of(new_person(session, name)) for name in ("Ada", "Alan"))
    extend(session, number, [ada], DUE + DAY, "Grace", "ill")
    found = assignment_with(session, number)
    assert found.points == 3.5
    assert [entry.exercise for entry in found.entries] == ["collectives/ring", "collectives/tree"]
    assert dates_for(session, found, ada).due == DUE + DAY
    assert dates_for(session, found, alan).due == DUE


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (Policy(opens=DUE, due=DUE - DAY), "due must not be before opens"),
        (Policy(due=DUE, closes=DUE - DAY), "before"),
        (Policy(late=1.5), "late must be from 0 to 1"),
        (Policy(attempts=1001), "attempts must be from 0 to 1,000"),
        (Policy(variants="none"), "own, same or many"),  # type: ignore[arg-type]
    ],
)
def test_a_rule_that_cannot_be_is_refused(session: Session, policy: Policy, says: str) -> None:
    class_id = number_of(create_class(session, "secret", "Ring"))
    with pytest.raises(InputError, match=says):
        create_assignment(session, class_id, "Week 1", policy, [AssignmentEntry("collectives/ring", 1.0)])


def test_an_assignment_has_exercises_and_their_points_are_bounded(session: Session) -> None:
    class_id = number_of(create_class(session, "secret", "Ring"))
    with pytest.raises(InputError, match="1 to 200 exercises, not 0"):
        create_assignment(session, class_id, "Week 1", Policy(), [])
    for points in (-1.0, 1001.0, float("nan")):
        with pytest.raises(InputError, match="points must be from 0 to 1,000"):
            create_assignment(session, class_id, "Week 1", Policy(), [AssignmentEntry("a/b", points)])


def test_the_archive_has_no_grace() -> None:
    archived = DUE - HOUR
    second = timedelta(seconds=1)
    for policy in (Policy(due=DUE), Policy(), Policy(due=DUE, variants="many", sitting=60)):
        policy = replace(policy, archived=archived)
        dates = dates_of(policy, began=archived - HOUR / 2 if policy.sitting else None)
        moments = (archived - second, archived, archived + second)
        assert [counts(dates, policy, at) for at in moments] == [True, False, False]
        assert [worth(policy, dates, at) for at in moments] == [1.0, 0.0, 0.0]
        assert dates.phase(archived, policy.grace) == "closed"
