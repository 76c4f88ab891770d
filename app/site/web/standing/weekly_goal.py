"""The goal that a visitor has set for each week, how it is kept, and how much of it is done."""

from dataclasses import dataclass
from datetime import UTC, date, timedelta

from fastapi import Request, Response

from app.site.web.standing.view import LearnerHistory

GOALS = (1, 2, 3, 5, 7, 10, 15, 20)  # exercises a week that can be chosen
_COOKIE = "goal"
_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer


@dataclass(frozen=True, slots=True)
class WeeklyGoal:
    """The goal, 0 without one, and the number of exercises that were solved this week."""

    goal: int
    done: int
    choices: tuple[int, ...] = GOALS

    @property
    def is_reached(self) -> bool:
        """Whether there is a goal, and enough is done for it."""
        return 0 < self.goal <= self.done


def goal_called(text: str) -> int:
    """The goal that *text* names; 0 if it is none that can be chosen.

    >>> goal_called("3"), goal_called("4"), goal_called("three")
    (3, 0, 0)
    """
    return next((goal for goal in GOALS if text == str(goal)), 0)


def chosen_goal(request: Request) -> int:
    """The goal that the visitor has set; 0: none."""
    return goal_called(request.cookies.get(_COOKIE, ""))


def keep_goal(request: Request, response: Response, goal: int) -> None:
    """Let the browser keep *goal*; 0 removes the one that it has."""
    secure = request.url.scheme == "https"
    if goal:
        response.set_cookie(_COOKIE, str(goal), _AGE, httponly=True, samesite="lax", secure=secure)
    else:
        response.delete_cookie(_COOKIE)


def first_of_week(today: date) -> date:
    """The Monday of the week of *today*.

    >>> first_of_week(date(2026, 3, 1))
    datetime.date(2026, 2, 23)
    """
    return today - timedelta(days=today.weekday())


def weekly_goal(past: LearnerHistory, goal: int, today: date) -> WeeklyGoal | None:
    """How much of *goal* the learner with that *past* has done in the week of *today*.

    What counts is an exercise solved without its solution, for the first time or again.
    """
    monday = first_of_week(today)
    days = ((one.exercise, one.at.astimezone(UTC).date()) for one in past.answers if one.own)
    return WeeklyGoal(goal, len({exercise for exercise, day in days if monday <= day <= today}))
