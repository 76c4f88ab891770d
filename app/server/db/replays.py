"""Idempotency: a check repeated with the same key is one attempt, whichever server receives it."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Engine, delete, exists, insert, select
from sqlmodel import col

from app.server.db.session import open_connection
from app.server.db.tables import Attempt, AttemptRow, Replay, ReplayRow, now

REMEMBERED = timedelta(hours=24)


class KeyTakenError(ValueError):
    """Another check with the same key was stored first."""


@dataclass(frozen=True, slots=True)
class ReplayedAttempt:
    """An attempt and its replay, stored atomically; no attempt if the answer was unreadable."""

    attempt: Attempt | None
    replay: Replay


@dataclass(frozen=True, slots=True)
class StoredReplay:
    """The request that was sent with a key, as a digest, and the verdict that answered it."""

    digest: str
    verdict: str


def find_replay(engine: Engine, learner: str, key: str) -> StoredReplay | None:
    """The request and verdict of *learner* for *key* within the last day, if any.

    Raises:
        UnavailableError: the database cannot be read.
    """
    statement = select(col(ReplayRow.digest), col(ReplayRow.verdict)).where(
        col(ReplayRow.learner) == learner, col(ReplayRow.key) == key, col(ReplayRow.at) > now() - REMEMBERED
    )
    with open_connection(engine) as connection:
        found = connection.execute(statement).first()
    return StoredReplay(*found) if found else None


def insert_once(connection: Connection, once: list[ReplayedAttempt]) -> None:
    """Delete expired replays, then store all of *once*.

    Raises:
        IntegrityError: a key is already stored.
    """
    connection.execute(delete(ReplayRow).where(col(ReplayRow.at) <= now() - REMEMBERED))
    # In the same order everywhere, or two servers might deadlock.
    keyed = sorted(once, key=lambda row: (row.replay.learner, row.replay.key))
    connection.execute(insert(ReplayRow), [vars(row.replay) for row in keyed])
    attempts = [vars(row.attempt) for row in once if row.attempt is not None]
    if attempts:
        connection.execute(insert(AttemptRow), attempts)


def is_replayed(connection: Connection, once: ReplayedAttempt) -> bool:
    """Whether exactly this one was stored."""
    names = ("learner", "key", "digest", "at")
    same = [col(getattr(ReplayRow, name)) == getattr(once.replay, name) for name in names]
    return connection.execute(select(exists().where(*same))).scalar_one()
