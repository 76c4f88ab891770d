"""When a solved exercise should come again: the FSRS model of forgetting, by the library `fsrs`.

Source: Ye, Su, Cao, "A stochastic shortest path algorithm for optimizing spaced repetition
scheduling", KDD 2022; https://github.com/open-spaced-repetition/py-fsrs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache

from fsrs import Card, Rating, Scheduler

RETENTION = 0.9  # an exercise is due when it would be solved with this chance
_LONGEST = 365  # days


@dataclass(frozen=True, slots=True)
class Day:
    """What came of one exercise on one day; *at* is the first answer of that day."""

    exercise: str
    at: datetime
    solved: bool
    at_once: bool  # solved with the first answer, and no hint


@dataclass(frozen=True, slots=True)
class Memory:
    """What is left of a solved exercise."""

    due: date
    last: date
    chance: float  # of solving it now


def memories(days: Iterable[Day], now: datetime) -> Mapping[str, Memory]:
    """What is left of each exercise that was ever solved; *days* are in order of time.

    Raises:
        ValueError: a time is not in UTC.
    """
    cards: dict[str, Card] = {}
    last: dict[str, date] = {}
    for day in days:
        if day.exercise not in cards and not day.solved:
            continue  # there is nothing to remember yet
        card = cards.get(day.exercise) or Card(card_id=0, due=day.at)
        cards[day.exercise], _ = _scheduler().review_card(card, _rating(day), day.at)
        last[day.exercise] = day.at.date()
    return {
        name: Memory(card.due.date(), last[name], _scheduler().get_card_retrievability(card, now))
        for name, card in cards.items()
    }


def _rating(day: Day) -> Rating:
    if day.at_once:
        return Rating.Good
    return Rating.Hard if day.solved else Rating.Again


@cache
def _scheduler() -> Scheduler:
    # In whole days and without chance: the same answers always lead to the same dates.
    return Scheduler(
        desired_retention=RETENTION,
        learning_steps=(),
        relearning_steps=(),
        maximum_interval=_LONGEST,
        enable_fuzzing=False,
    )
