"""Answers in the placement and in finals, and the chapters that learners say they know."""

from collections.abc import Collection, Sequence
from typing import Literal

from pydantic import AwareDatetime
from sqlalchemy import BigInteger, UniqueConstraint, delete
from sqlmodel import Field, Session, SQLModel, col, select

from app.server.db.session import RowNumber, UtcDateTime, insert_missing
from app.server.db.tables import EXERCISE_LIMIT, LEARNER_LIMIT, NAME_LIMIT, SEED_LIMIT, FrozenRow, KeptText, now

Assessment = Literal["placement", "final"]
Outcome = Literal["right", "wrong", "skipped"]
MOST_QUESTIONS = 100
MOST_CHAPTERS = 500  # that one learner may mark
_LATEST = 2_000  # answers that are looked at: a hundred finals
_WORD = 9  # letters of the longest outcome and assessment


class AssessedAnswer(FrozenRow):
    """A learner's answer to a question of an assessment: the first one stays.

    The questions of an assessment follow from *draw*, its random number.

    Raises:
        ValueError: as for an attempt.
    """

    learner: KeptText = Field(min_length=1, max_length=LEARNER_LIMIT)
    assessment: Assessment
    draw: int = Field(ge=0, lt=SEED_LIMIT, sa_type=BigInteger)
    number: int = Field(ge=1, le=MOST_QUESTIONS, description="of the question, from 1")
    exercise: KeptText = Field(min_length=1, max_length=EXERCISE_LIMIT)
    seed: int = Field(ge=0, lt=SEED_LIMIT, sa_type=BigInteger)
    outcome: Outcome
    at: AwareDatetime = Field(default_factory=now, sa_type=UtcDateTime)


class AssessedRow(SQLModel, table=True):
    """The table of answers in assessments, one per question."""

    __tablename__ = "assessed"
    __table_args__ = (UniqueConstraint("learner", "assessment", "draw", "number", name="uq_assessed_first"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    learner: str = Field(max_length=LEARNER_LIMIT)
    assessment: str = Field(max_length=_WORD)
    draw: int = Field(sa_type=BigInteger)
    number: int
    exercise: str = Field(max_length=EXERCISE_LIMIT)
    seed: int = Field(sa_type=BigInteger)
    outcome: str = Field(max_length=_WORD)
    at: AwareDatetime = Field(sa_type=UtcDateTime)


class KnownChapter(FrozenRow):
    """A chapter that a learner says they know.

    Raises:
        ValueError: as for an attempt.
    """

    learner: KeptText = Field(min_length=1, max_length=LEARNER_LIMIT)
    chapter: KeptText = Field(min_length=1, max_length=NAME_LIMIT)
    at: AwareDatetime = Field(default_factory=now, sa_type=UtcDateTime)


class KnownChapterRow(KnownChapter, table=True):
    """The table of chapters that learners know."""

    model_config = {"frozen": False}

    __tablename__ = "known_chapter"
    __table_args__ = (UniqueConstraint("learner", "chapter", name="uq_known_chapter"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)


def assessed_by(session: Session, learner: str, assessment: Assessment) -> Sequence[AssessedRow]:
    """The answers of *learner* in assessments of that sort, the latest first, up to a limit."""
    own = select(AssessedRow).where(AssessedRow.learner == learner, AssessedRow.assessment == assessment)
    return session.exec(own.order_by(col(AssessedRow.id).desc()).limit(_LATEST)).all()


def assessed_in(session: Session, learner: str, assessment: Assessment, draw: int) -> Sequence[AssessedRow]:
    """The answers of *learner* in one assessment, in the order of their questions."""
    own = select(AssessedRow).where(
        AssessedRow.learner == learner, AssessedRow.assessment == assessment, AssessedRow.draw == draw
    )
    return session.exec(own.order_by(col(AssessedRow.number)).limit(MOST_QUESTIONS)).all()


def known_chapters(session: Session, learner: str) -> frozenset[str]:
    """The chapters that *learner* knows."""
    own = select(KnownChapterRow.chapter).where(KnownChapterRow.learner == learner)
    return frozenset(session.exec(own.limit(MOST_CHAPTERS)))


def mark_known(session: Session, learner: str, chapters: Collection[str]) -> None:
    """Let *learner* know these *chapters*, and no others. Commits."""
    mine = col(KnownChapterRow.learner) == learner
    others = col(KnownChapterRow.chapter).not_in(chapters)
    session.connection().execute(delete(KnownChapterRow).where(mine, others))
    rows = [{"learner": learner, "chapter": name, "at": now()} for name in sorted(chapters)]
    if rows:
        connection = session.connection()
        connection.execute(insert_missing(connection, KnownChapterRow), rows)
    session.commit()
