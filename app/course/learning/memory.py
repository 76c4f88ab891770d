"""Spaced repetition: when to review a solved exercise, by the FSRS model (the library `fsrs`).

Source: Ye, Su, Cao, "A stochastic shortest path algorithm for optimizing spaced repetition
scheduling", KDD 2022; https://github.com/open-spaced-repetition/py-fsrs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache

from fsrs import Card, Rating, Scheduler

RETENTION = 0.9  # an exercise is due when its chance of being solved falls to this
_LONGEST_INTERVAL = 365  # days


@dataclass(frozen=True, slots=True)
class Review:
    """The result of one exercise on one day; *at* is the first answer of that day."""

    exercise: str
    at: datetime
    solved: bool
    at_once: bool  # solved with the first answer, without a hint


@dataclass(frozen=True, slots=True)
class Memory:
    """A learner's memory of a solved exercise; *first*: the day on which it was solved first."""

    due: date
    last: date
    chance: float  # of solving it now
    first: date = date.min


def memories(reviews: Iterable[Review], now: datetime) -> Mapping[str, Memory]:
    """The memory of each exercise that was ever solved; *reviews* are oldest first.

    Raises:
        ValueError: a time is not in UTC.
    """
    cards: dict[str, Card] = {}
    last: dict[str, date] = {}
    first: dict[str, date] = {}
    for review in reviews:
        if review.exercise not in cards and not review.solved:
            continue  # there is nothing to remember yet
        card = cards.get(review.exercise) or Card(card_id=0, due=review.at)
        cards[review.exercise], _ = _scheduler().review_card(card, _rating(review), review.at)
        last[review.exercise] = review.at.date()
        first.setdefault(review.exercise, review.at.date())
    return {
        name: Memory(
            due=card.due.date(),
            last=last[name],
            chance=_scheduler().get_card_retrievability(card, now),
            first=first[name],
        )
        for name, card in cards.items()
    }


def _rating(review: Review) -> Rating:
    if review.at_once:
        return Rating.Good
    return Rating.Hard if review.solved else Rating.Again


@cache
def _scheduler() -> Scheduler:
    # In whole days and without randomness: the same answers always lead to the same dates.
    return Scheduler(
        desired_retention=RETENTION,
        learning_steps=(),
        relearning_steps=(),
        maximum_interval=_LONGEST_INTERVAL,
        enable_fuzzing=False,
    )
