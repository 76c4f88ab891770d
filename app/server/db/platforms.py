"""The tables of learning platforms: how LTI 1.3 reaches them, and which scores they get."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.server.db.columns import RowNumber, UtcDateTime
from app.server.db.people import DIGEST_LENGTH, ISSUER_LIMIT, REASON_LIMIT, SUBJECT_LIMIT
from app.server.db.tables import NAME_LIMIT, now

ADDRESS_LIMIT = 2_000

_PERSON, _CLASS, _ASSIGNMENT = "person.id", "class.id", "assignment.id"
_PLATFORM, _LINK = "platform.id", "link.id"


class PlatformRow(SQLModel, table=True):
    """A learning platform (LMS) that launches Wallclock by LTI 1.3."""

    __tablename__ = "platform"
    __table_args__ = (UniqueConstraint("issuer", "client_id", name="uq_platform_client"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    name: str = Field(default="", max_length=NAME_LIMIT)
    issuer: str = Field(max_length=ISSUER_LIMIT)
    client_id: str = Field(max_length=ISSUER_LIMIT)
    auth_url: str = Field(max_length=ADDRESS_LIMIT)
    token_url: str = Field(max_length=ADDRESS_LIMIT)
    token_audience: str = Field(default="", max_length=ADDRESS_LIMIT)
    jwks_url: str = Field(max_length=ADDRESS_LIMIT)
    active: bool = Field(default=True, description="not until an operator says so, if registered")
    made: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class DeploymentRow(SQLModel, table=True):
    """A deployment of the tool in a platform that an operator has allowed."""

    __tablename__ = "deployment"

    platform: int = Field(primary_key=True, foreign_key=_PLATFORM, ondelete="CASCADE", sa_type=BigInteger)
    deployment: str = Field(primary_key=True, max_length=SUBJECT_LIMIT)


class ContextRow(SQLModel, table=True):
    """A course of a platform, and the class that it is here."""

    __tablename__ = "context"
    __table_args__ = (Index("ix_context_class", "class_id"),)

    platform: int = Field(primary_key=True, foreign_key=_PLATFORM, ondelete="CASCADE", sa_type=BigInteger)
    deployment: str = Field(primary_key=True, max_length=SUBJECT_LIMIT)
    context: str = Field(primary_key=True, max_length=SUBJECT_LIMIT)
    class_id: int = Field(foreign_key=_CLASS, ondelete="CASCADE", sa_type=BigInteger)
    title: str = Field(default="", max_length=NAME_LIMIT, description="as the platform calls it")
    memberships_url: str = Field(default="", max_length=ADDRESS_LIMIT)


class LinkRow(SQLModel, table=True):
    """A link in a course of a platform, the assignment that it opens, and where scores go."""

    __tablename__ = "link"
    __table_args__ = (
        UniqueConstraint("platform", "resource_link", name="uq_link_resource"),
        Index("ix_link_assignment", "assignment"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    platform: int = Field(foreign_key=_PLATFORM, ondelete="CASCADE", sa_type=BigInteger)
    deployment: str = Field(default="", max_length=SUBJECT_LIMIT)
    resource_link: str = Field(max_length=SUBJECT_LIMIT)
    assignment: int = Field(foreign_key=_ASSIGNMENT, ondelete="CASCADE", sa_type=BigInteger)
    lineitem_url: str = Field(default="", max_length=ADDRESS_LIMIT)
    lineitems_url: str = Field(default="", max_length=ADDRESS_LIMIT)
    item_digest: str = Field(default="", max_length=DIGEST_LENGTH, description="of what its line item was last told")
    posted: datetime | None = Field(
        default=None, sa_type=UtcDateTime, description="when everyone's points were last computed"
    )


class NonceRow(SQLModel, table=True):
    """What may be used once: a second insert fails, also between two servers."""

    __tablename__ = "nonce"
    __table_args__ = (Index("ix_nonce_until", "until"),)

    digest: str = Field(primary_key=True, max_length=DIGEST_LENGTH)
    until: datetime = Field(sa_type=UtcDateTime)


class OutboxRow(SQLModel, table=True):
    """The points of a person that a platform should have: one row per cell, overwritten."""

    __tablename__ = "outbox"
    __table_args__ = (CheckConstraint("tries >= 0", name="ck_outbox_tries"), Index("ix_outbox_next", "next"))

    link: int = Field(primary_key=True, foreign_key=_LINK, ondelete="CASCADE", sa_type=BigInteger)
    person: int = Field(primary_key=True, foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    subject: str = Field(max_length=SUBJECT_LIMIT, description="the person's name there")
    points: float = Field(description="share of the assignment's points, 0 to 1")
    answered: datetime | None = Field(
        default=None, sa_type=UtcDateTime, description="when the last answer that counts was given"
    )
    sent_points: float | None = Field(default=None)
    sent_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    tries: int = Field(default=0)
    next: datetime | None = Field(default=None, sa_type=UtcDateTime, description="when to send; none: it arrived")
    said: str = Field(default="", max_length=REASON_LIMIT, description="why it was refused")


class ToolKeyRow(SQLModel, table=True):
    """A key that signs messages to platforms; the next one is published before it is used."""

    __tablename__ = "tool_key"
    __table_args__ = (UniqueConstraint("kid", name="uq_tool_key_kid"),)

    id: int | None = Field(default=None, primary_key=True)
    kid: str = Field(max_length=DIGEST_LENGTH)
    private: str = Field(sa_type=Text, description="JWK")
    made: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    signs_from: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    retired: datetime | None = Field(default=None, sa_type=UtcDateTime)


class RegistrationRow(SQLModel, table=True):
    """A link by which a platform may register once."""

    __tablename__ = "registration"

    digest: str = Field(primary_key=True, max_length=DIGEST_LENGTH)
    name: str = Field(default="", max_length=NAME_LIMIT)
    until: datetime = Field(sa_type=UtcDateTime)
