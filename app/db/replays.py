"""A check that is repeated with the same key is one attempt, whichever server hears it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, delete, insert, select
from sqlmodel import col

from app.db.errors import connected
from app.db.tables import Attempt, AttemptRow, Replay, ReplayRow, now

REMEMBERED = timedelta(hours=24)


class KeyTakenError(ValueError):
    """Another check with the same key was stored first."""


@dataclass(frozen=True, slots=True)
class Once:
    """What is stored together or not at all; no attempt where the answer could not be read."""

    attempt: Attempt | None
    replay: Replay


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was asked with a key, as a digest, and the verdict that was sent."""

    digest: str
    verdict: str


def replayed(engine: Engine, learner: str, key: str) -> Replayed | None:
    """What *learner* was sent for *key* within the last day.

    Raises:
        UnavailableError: the database cannot be read.
    """
    statement = select(col(ReplayRow.digest), col(ReplayRow.verdict)).where(
        col(ReplayRow.learner) == learner, col(ReplayRow.key) == key, col(ReplayRow.at) > _oldest()
    )
    with connected(engine) as connection:
        found = connection.execute(statement).first()
    return Replayed(*found) if found else None


def insert_once(connection: Connection, once: list[Once]) -> None:
    """Store all of *once*, after what is too old.

    Raises:
        IntegrityError: a key is there already.
    """
    connection.execute(delete(ReplayRow).where(col(ReplayRow.at) <= _oldest()))
    # In one order everywhere, or two servers might wait for each other.
    keyed = sorted(once, key=lambda row: (row.replay.learner, row.replay.key))
    connection.execute(insert(ReplayRow), [vars(row.replay) for row in keyed])
    attempts = [vars(row.attempt) for row in once if row.attempt is not None]
    if attempts:
        connection.execute(insert(AttemptRow), attempts)


def _oldest() -> datetime:
    return now() - REMEMBERED
