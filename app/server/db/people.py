"""The tables of persons, classes, assignments and learning platforms."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.server.db.session import RowNumber, UtcDateTime
from app.server.db.tables import EXERCISE_LIMIT, LEARNER_LIMIT, NAME_LIMIT, now

ISSUER_LIMIT = 255
SUBJECT_LIMIT = 255
DIGEST_LENGTH = 64  # of SHA-256, in hexadecimal
REASON_LIMIT = 500
ZONE_LIMIT = 64

_PERSON, _CLASS, _ASSIGNMENT = "person.id", "class.id", "assignment.id"


class PersonRow(SQLModel, table=True):
    """Someone who joined a class or signed in; answers are stored under their *learner*."""

    __tablename__ = "person"
    __table_args__ = (UniqueConstraint("learner", name="uq_person_learner"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    learner: str = Field(max_length=LEARNER_LIMIT, description="a random number of 128 bits")
    name: str = Field(default="", max_length=NAME_LIMIT, description="empty: not given, or deleted")
    made: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    deleted: datetime | None = Field(default=None, sa_type=UtcDateTime)
    entered: bool = Field(default=False, description="has been in a class: its teachers may know a way in")


class IdentityRow(SQLModel, table=True):
    """How a provider of identities, or a learning platform, calls a person."""

    __tablename__ = "identity"
    __table_args__ = (Index("ix_identity_person", "person"),)

    issuer: str = Field(primary_key=True, max_length=ISSUER_LIMIT, description="of a platform: lti:ID")
    subject: str = Field(primary_key=True, max_length=SUBJECT_LIMIT)
    person: int = Field(foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    seen: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    own: bool = Field(
        default=True, description="nobody else can have connected it; if not, see app.classes.people.persons"
    )
    doubted: bool = Field(default=False, description="signs nobody in until the person confirms it")


class SessionRow(SQLModel, table=True):
    """A browser in which a person is signed in; the cookie holds what the digest is of.

    *issuer* and *subject* are of the identity that signed them in; empty: a code or a link did.
    """

    __tablename__ = "session"
    __table_args__ = (Index("ix_session_person", "person"), Index("ix_session_until", "until"))

    digest: str = Field(primary_key=True, max_length=DIGEST_LENGTH)
    person: int = Field(foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    made: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    seen: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    until: datetime = Field(sa_type=UtcDateTime)
    issuer: str = Field(default="", max_length=ISSUER_LIMIT)
    subject: str = Field(default="", max_length=SUBJECT_LIMIT)


class ClassRow(SQLModel, table=True):
    """A class: its people, assignments and grades.

    The code of its join link follows from *join_number* and the site's secret, so that a teacher
    can see it again, and a new number makes a new one.
    """

    __tablename__ = "class"
    __table_args__ = (UniqueConstraint("join_digest", name="uq_class_join"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    name: str = Field(max_length=NAME_LIMIT)
    zone: str = Field(default="UTC", max_length=ZONE_LIMIT, description="IANA, Europe/Berlin")
    joining: str = Field(default="open", max_length=10, description="open, roster or closed")
    join_number: int = Field(default=0)
    join_digest: str = Field(max_length=DIGEST_LENGTH)
    pseudonyms: bool = Field(default=False, description="students are asked for an invented name")
    demo: bool = Field(default=False, description="made of invented answers, by an earlier version")
    lowest: int = Field(default=0, description="assignments of a student that are left out overall")
    made: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    archived: datetime | None = Field(default=None, sa_type=UtcDateTime)


class MemberRow(SQLModel, table=True):
    """A person in a class. *code_digest* is of the seat code, which signs them in anywhere."""

    __tablename__ = "member"
    __table_args__ = (
        UniqueConstraint("code_digest", name="uq_member_code"),
        Index("ix_member_person", "person"),
        Index("ix_member_outside", "class_id", "outside_id"),
    )

    class_id: int = Field(primary_key=True, foreign_key=_CLASS, ondelete="CASCADE", sa_type=BigInteger)
    person: int = Field(primary_key=True, foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    role: str = Field(default="student", max_length=10, description="teacher, assistant, student")
    label: str = Field(default="", max_length=NAME_LIMIT, description="the name in this class")
    outside_id: str = Field(default="", max_length=SUBJECT_LIMIT, description="in other systems")
    group_name: str = Field(default="", max_length=NAME_LIMIT, description="empty: in no group")
    launched: str = Field(
        default="", max_length=10, description="the role in the latest launch, or that a teacher gave since"
    )
    time_factor: float = Field(default=1.0, description="of the time in exams, 1 or more")
    code_digest: str | None = Field(default=None, max_length=DIGEST_LENGTH)
    joined: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    left: datetime | None = Field(default=None, sa_type=UtcDateTime)


class AssignmentRow(SQLModel, table=True):
    """Exercises that a class does by a date; see `app.classes.people.policy` for what the rules mean."""

    __tablename__ = "assignment"
    __table_args__ = (Index("ix_assignment_class", "class_id", "id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    class_id: int = Field(foreign_key=_CLASS, ondelete="CASCADE", sa_type=BigInteger)
    title: str = Field(max_length=NAME_LIMIT)
    opens: datetime | None = Field(default=None, sa_type=UtcDateTime)
    due: datetime | None = Field(default=None, sa_type=UtcDateTime)
    closes: datetime | None = Field(default=None, sa_type=UtcDateTime)
    late: float = Field(default=0.0, description="share of the points lost per day begun, 0 to 1")
    grace: int = Field(default=300, description="seconds after *due* that cost nothing")
    attempts: int = Field(default=0, description="answers that count; 0: all")
    variants: str = Field(default="own", max_length=10, description="own, same or many")
    hints: str = Field(default="free", max_length=10, description="free, cost or off")
    hint_cost: float = Field(default=0.1, description="share of the points per hint, if they cost")
    solution: str = Field(default="due", max_length=10, description="shown: free, due or off")
    show_points: bool = Field(default=True, description="if not, points are hidden until due")
    sitting: int = Field(default=0, description="minutes of an exam from its start; 0: no exam")
    rules: str = Field(default="", sa_type=Text, description="those without a column of their own, as JSON")
    draws: str = Field(default="", sa_type=Text, description="of each pool: how many exercises a student has")
    weight: float | None = Field(default=None, description="in the overall grade; none: its points")
    made: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    changed: datetime | None = Field(
        default=None, sa_type=UtcDateTime, description="when anything last moved everyone's points"
    )
    origins: str = Field(default="", sa_type=Text, description="numbers of those that it is a copy of, oldest first")


class AssignedRow(SQLModel, table=True):
    """An exercise of an assignment, and its points."""

    __tablename__ = "assigned"
    __table_args__ = (Index("ix_assigned_exercise", "exercise"),)

    assignment: int = Field(primary_key=True, foreign_key=_ASSIGNMENT, ondelete="CASCADE", sa_type=BigInteger)
    exercise: str = Field(primary_key=True, max_length=EXERCISE_LIMIT)
    points: float = Field(default=1.0)
    place: int = Field(default=0)
    pool: int = Field(default=0, description="1 and so on; 0: everyone has it")


class ExtensionRow(SQLModel, table=True):
    """A later date for one person; by whom, and why."""

    __tablename__ = "extension"

    assignment: int = Field(primary_key=True, foreign_key=_ASSIGNMENT, ondelete="CASCADE", sa_type=BigInteger)
    person: int = Field(primary_key=True, foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    until: datetime = Field(sa_type=UtcDateTime)
    by: str = Field(default="", max_length=NAME_LIMIT)
    why: str = Field(default="", max_length=REASON_LIMIT)
    at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class GroupDatesRow(SQLModel, table=True):
    """The dates of an assignment for a group of the class; none: everyone's date holds."""

    __tablename__ = "group_dates"

    assignment: int = Field(primary_key=True, foreign_key=_ASSIGNMENT, ondelete="CASCADE", sa_type=BigInteger)
    group_name: str = Field(primary_key=True, max_length=NAME_LIMIT)
    opens: datetime | None = Field(default=None, sa_type=UtcDateTime)
    due: datetime | None = Field(default=None, sa_type=UtcDateTime)
    closes: datetime | None = Field(default=None, sa_type=UtcDateTime)


class SittingRow(SQLModel, table=True):
    """When a person began an exam: once."""

    __tablename__ = "sitting"

    assignment: int = Field(primary_key=True, foreign_key=_ASSIGNMENT, ondelete="CASCADE", sa_type=BigInteger)
    person: int = Field(primary_key=True, foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    began: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class RegradeRow(SQLModel, table=True):
    """The verdict of a mended exercise on a stored answer; the attempt never changes."""

    __tablename__ = "regrade"

    attempt: int = Field(primary_key=True, foreign_key="attempt.id", ondelete="CASCADE", sa_type=BigInteger)
    digest: str = Field(primary_key=True, max_length=DIGEST_LENGTH, description="of the new file")
    score: float
    correct: bool
    at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class OverrideRow(SQLModel, table=True):
    """Points that a teacher gave by hand, or that a student is excused; appended, the last one holds."""

    __tablename__ = "override"
    __table_args__ = (Index("ix_override_cell", "assignment", "person", "exercise", "id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    assignment: int = Field(foreign_key=_ASSIGNMENT, ondelete="CASCADE", sa_type=BigInteger)
    person: int = Field(foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    exercise: str = Field(max_length=EXERCISE_LIMIT)
    points: float | None = Field(default=None, description="none: the computed points hold again")
    excused: bool = Field(default=False, description="left out of every sum; it has no points")
    by: str = Field(default="", max_length=NAME_LIMIT)
    why: str = Field(default="", max_length=REASON_LIMIT)
    at: datetime = Field(default_factory=now, sa_type=UtcDateTime)


class MergeRow(SQLModel, table=True):
    """Two persons who turned out to be one: what of *gone* became that of *kept*.

    It may wait for the yes of persons, and so may its undoing: *waits* are their numbers.
    """

    __tablename__ = "merge"
    __table_args__ = (Index("ix_merge_kept", "kept"), Index("ix_merge_gone", "gone"))

    id: int | None = Field(default=None, primary_key=True, sa_type=RowNumber)
    kept: int = Field(foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    gone: int = Field(foreign_key=_PERSON, ondelete="CASCADE", sa_type=BigInteger)
    by: str = Field(default="", max_length=NAME_LIMIT)
    at: datetime = Field(default_factory=now, sa_type=UtcDateTime)
    undone: datetime | None = Field(default=None, sa_type=UtcDateTime)
    moved: str = Field(sa_type=Text, description="JSON: the numbers of the rows, by table; empty: not merged yet")
    class_id: int | None = Field(default=None, sa_type=BigInteger, description="the class that asked for it")
    waits: str = Field(default="", sa_type=Text, description="whose yes is missing: numbers, with spaces")


ADDRESS_LIMIT = 2_000

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
