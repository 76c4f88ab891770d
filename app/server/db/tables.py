"""The stored rows and their tables.

`Attempt` and `Reveal` are validated when they are created (a `ValueError` says what is wrong) and frozen from then on;
the classes that end in Row are their tables. The split is needed because SQLModel does not validate table classes.
"""

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime
from sqlalchemy import BigInteger, Index, Text, UniqueConstraint
from sqlalchemy import text as sql
from sqlmodel import Field, SQLModel

from app.server.db.run_state import RunState
from app.server.db.session import RowNumber, StateText, UtcDateTime

LEARNER_LIMIT = 64
EXERCISE_LIMIT = 200
ANSWER_LIMIT = 20_000
DRAWN_LIMIT = 65_536
NAME_LIMIT = 100
GUESS_LIMIT = 500
FARTHEST = 100  # places from the middle of a spread
KEY_LIMIT = 255
SEED_LIMIT = 2**53  # below it, a browser reads integers in JSON exactly
HINTS_LIMIT = 1_000

MISTAKE_LIMIT = 64


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text with the character NUL cannot be stored")
    return text


# PostgreSQL stores no NUL; pydantic itself refuses what is not Unicode, such as a lone surrogate.
KeptText = Annotated[str, AfterValidator(_without_nul)]


def now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


class FrozenRow(SQLModel):
    """What is validated when it is created, and frozen from then on."""

    model_config = {"frozen": True, "strict": True, "extra": "forbid"}


class Attempt(FrozenRow):
    """One submitted answer: written once, never changed.

    Raises:
        ValueError: a text is too long or contains what a database cannot store, a number is out
            of range, a time has no offset, or a type is wrong.
    """

    learner: KeptText = Field(min_length=1, max_length=LEARNER_LIMIT)
    exercise: KeptText = Field(min_length=1, max_length=EXERCISE_LIMIT)
    seed: int = Field(ge=0, lt=SEED_LIMIT, sa_type=BigInteger)
    answer: KeptText = Field(max_length=ANSWER_LIMIT, description="as typed")
    correct: bool
    score: float = Field(ge=0, le=1)
    hints: int = Field(default=0, ge=0, le=HINTS_LIMIT, description="seen before submitting")
    revealed: bool = Field(default=False, description="the solution had been shown before")
    digest: KeptText = Field(max_length=64, description="hash of the exercise file")
    drawn: KeptText = Field(max_length=DRAWN_LIMIT, sa_type=Text, description="JSON, by name")
    seconds: float | None = Field(default=None, ge=0, lt=math.inf, description="on the page")
    mistake: KeptText | None = Field(
        default=None, max_length=MISTAKE_LIMIT, description="the known mistake it was taken for"
    )
    carried: bool = Field(default=False, description="it came in a file: no class counts it")
    at: AwareDatetime = Field(default_factory=now, sa_type=UtcDateTime)


class AttemptRow(Attempt, table=True):
    """The table of attempts, in the order of their commits."""

    model_config = {"frozen": False}

    __tablename__ = "attempt"
    __table_args__ = (
        Index("ix_attempt_learner", "learner", "id"),
        Index("ix_attempt_learner_exercise", "learner", "exercise", "id"),
        Index(
            "ix_attempt_exercise_learner",  # with all that a gradebook needs of an answer
            *("exercise", "learner", "seed", "revealed", "score", "hints", "carried", "at", "id"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)


class Reveal(FrozenRow):
    """A hint that a learner has been shown, or with number 0 the worked solution.

    Raises:
        ValueError: as for an attempt.
    """

    learner: KeptText = Field(min_length=1, max_length=LEARNER_LIMIT)
    exercise: KeptText = Field(min_length=1, max_length=EXERCISE_LIMIT)
    seed: int = Field(ge=0, lt=SEED_LIMIT, sa_type=BigInteger)
    number: int = Field(ge=0, le=HINTS_LIMIT, description="of the hint from 1; 0: the solution")
    at: AwareDatetime = Field(default_factory=now, sa_type=UtcDateTime)


class RevealRow(Reveal, table=True):
    """The table of reveals; a hint that is shown again is not stored again."""

    model_config = {"frozen": False}

    __tablename__ = "reveal"
    __table_args__ = (UniqueConstraint("learner", "exercise", "seed", "number", name="uq_reveal_shown"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)


class TokenRow(SQLModel, table=True):
    """A key to the grading API: its secret is shown once, and stored as a digest."""

    __tablename__ = "token"
    __table_args__ = (
        UniqueConstraint("name", name="uq_token_name"),
        UniqueConstraint("digest", name="uq_token_digest"),
    )

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(max_length=NAME_LIMIT)
    digest: KeptText = Field(max_length=64, description="SHA-256 of the secret, in hexadecimal")
    scope: str = Field(default="check", max_length=10, description="check, class or admin")
    class_id: int | None = Field(default=None, sa_type=BigInteger, description="of scope class")
    created: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    revoked: datetime | None = Field(default=None, sa_type=UtcDateTime)


class SecretRow(SQLModel, table=True):
    """The secret that signs cookies: one row for the whole site, so that all servers agree."""

    __tablename__ = "secret"

    id: int | None = Field(default=None, primary_key=True)
    value: str = Field(sa_type=Text, description="empty if WALLCLOCK_SECRET is set")
    digest: str = Field(max_length=64, description="SHA-256 of the secret, in hexadecimal")


class Prediction(FrozenRow):
    """A learner's prediction, made before anything was measured: the first one stays.

    Raises:
        ValueError: as for an attempt.
    """

    learner: KeptText = Field(min_length=1, max_length=LEARNER_LIMIT)
    exercise: KeptText = Field(min_length=1, max_length=EXERCISE_LIMIT)
    seed: int = Field(ge=0, lt=SEED_LIMIT, sa_type=BigInteger)
    answer: KeptText = Field(max_length=ANSWER_LIMIT, sa_type=Text, description="JSON, by name")
    at: AwareDatetime = Field(default_factory=now, sa_type=UtcDateTime)


class PredictionRow(Prediction, table=True):
    """The table of predictions, one per learner and drawing."""

    model_config = {"frozen": False}

    __tablename__ = "prediction"
    __table_args__ = (UniqueConstraint("learner", "exercise", "seed", name="uq_prediction_first"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)


class DailyGuess(FrozenRow):
    """A learner's guess on the question of a day of an earlier version: stored, exported and deleted.

    Raises:
        ValueError: as for an attempt.
    """

    learner: KeptText = Field(min_length=1, max_length=LEARNER_LIMIT)
    day: date
    question: KeptText = Field(min_length=1, max_length=NAME_LIMIT)
    answer: KeptText = Field(max_length=GUESS_LIMIT, description="as typed")
    value: float = Field(gt=0, lt=math.inf, description="in the base unit of the question")
    place: int | None = Field(default=None, ge=-FARTHEST, le=FARTHEST, description="in the spread; none if imported")
    at: AwareDatetime = Field(default_factory=now, sa_type=UtcDateTime)


class DailyGuessRow(DailyGuess, table=True):
    """The table of guesses, one per learner and day."""

    model_config = {"frozen": False}

    __tablename__ = "daily_guess"
    __table_args__ = (
        UniqueConstraint("learner", "day", name="uq_daily_guess_first"),
        Index("ix_daily_guess_spread", "day", "question", "place"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)


class BoardRow(SQLModel, table=True):
    """The table of right schedules on boards of an earlier version: stored, exported and deleted."""

    __tablename__ = "board"
    __table_args__ = (
        UniqueConstraint("learner", "exercise", name="uq_board_entry"),
        Index("ix_board_points", "exercise", "time", "memory"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    learner: str = Field(max_length=LEARNER_LIMIT)
    exercise: str = Field(max_length=EXERCISE_LIMIT)
    time: int = Field(description="units until the last rank is done")
    memory: int = Field(description="units that the fullest rank holds")
    at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class Replay(FrozenRow):
    """The verdict on a check that had an Idempotency-Key, to be sent again if it is repeated.

    Raises:
        ValueError: as for an attempt.
    """

    learner: KeptText = Field(min_length=1, max_length=LEARNER_LIMIT)
    key: KeptText = Field(min_length=1, max_length=KEY_LIMIT, description="Idempotency-Key")
    digest: KeptText = Field(max_length=64, description="SHA-256 of the request")
    verdict: KeptText = Field(sa_type=Text, description="JSON, as it was sent")
    at: AwareDatetime = Field(default_factory=now, sa_type=UtcDateTime)


class ReplayRow(Replay, table=True):
    """The table of replays; rows expire after a day."""

    model_config = {"frozen": False}

    __tablename__ = "replay"
    __table_args__ = (UniqueConstraint("learner", "key", name="uq_replay_key"), Index("ix_replay_at", "at"))

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)


class LabRunRow(SQLModel, table=True):
    """The queue of lab runs, and their results.

    A row goes from queued to running to one of the final states. Of the rows with the same *pool*,
    a set of devices, at most one is running.
    """

    __tablename__ = "lab_run"
    __table_args__ = (
        UniqueConstraint("name", name="uq_lab_run_name"),
        Index("ix_lab_run_state", "state", "host", "id"),
        Index("ix_lab_run_lab", "lab", "id"),
        Index(
            "uq_lab_run_pool",
            "pool",
            unique=True,
            sqlite_where=sql("state = 'running'"),
            postgresql_where=sql("state = 'running'"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    name: str = Field(max_length=NAME_LIMIT, description="of the run's folder and page")
    lab: str = Field(max_length=NAME_LIMIT)
    given: str = Field(sa_type=Text, description="the parameters as text, JSON")
    backend: str = Field(max_length=NAME_LIMIT)
    host: str = Field(max_length=EXERCISE_LIMIT, description="the machine or cluster to run on")
    pool: str = Field(max_length=EXERCISE_LIMIT, description="the devices of that machine")
    learner: str = Field(default="", max_length=LEARNER_LIMIT, description="empty: sent in")
    origin: str = Field(default="", max_length=EXERCISE_LIMIT, description="a page to go back to")
    notes: str = Field(default="[]", sa_type=Text, description="on the choice of the backend, JSON")
    predicted: float | None = Field(default=None, description="in the base unit of its measure")
    state: RunState = Field(default=RunState.QUEUED, sa_type=StateText)
    says: str = Field(default="", sa_type=Text, description="what it waits for, or why it ended")
    cancel: bool = Field(default=False, description="its learner asked to stop it")
    worker: str = Field(default="", max_length=EXERCISE_LIMIT, description="its follower")
    report: str = Field(default="", sa_type=Text, description="the measurements so far, JSON")
    log: str = Field(default="", sa_type=Text, description="what the ranks printed, if it failed")
    asked: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    beat: datetime = Field(default_factory=now, sa_type=UtcDateTime, description="last followed")

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters as texts, by name."""
        return {str(name): str(text) for name, text in json.loads(self.given).items()}

    @property
    def sentences(self) -> tuple[str, ...]:
        """The notes on the choice of the backend."""
        return tuple(map(str, json.loads(self.notes)))
