"""persons, classes, assignments and learning platforms"""

import sqlalchemy as sa
from alembic import op

revision = "d0130defa7fd"
down_revision = "9c3e51f7d208"

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# In an order in which no table refers to a later one.
TABLES = (
    "class",
    "nonce",
    "person",
    "platform",
    "registration",
    "tool_key",
    "assignment",
    "context",
    "deployment",
    "identity",
    "member",
    "regrade",
    "session",
    "assigned",
    "extension",
    "link",
    "override",
    "sitting",
    "outbox",
)


def upgrade() -> None:
    op.create_table(
        "class",
        sa.Column("id", row_number, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("joining", sa.String(length=10), nullable=False),
        sa.Column("join_number", sa.Integer(), nullable=False),
        sa.Column("join_digest", sa.String(length=64), nullable=False),
        sa.Column("pseudonyms", sa.Boolean(), nullable=False),
        sa.Column("demo", sa.Boolean(), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.Column("archived", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("join_digest", name="uq_class_join"),
    )
    op.create_table(
        "nonce",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_nonce_until", "nonce", ["until"])
    op.create_table(
        "person",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.Column("deleted", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", name="uq_person_learner"),
    )
    op.create_table(
        "platform",
        sa.Column("id", row_number, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("issuer", sa.String(length=255), nullable=False),
        sa.Column("client_id", sa.String(length=255), nullable=False),
        sa.Column("auth_url", sa.String(length=2000), nullable=False),
        sa.Column("token_url", sa.String(length=2000), nullable=False),
        sa.Column("token_audience", sa.String(length=2000), nullable=False),
        sa.Column("jwks_url", sa.String(length=2000), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("issuer", "client_id", name="uq_platform_client"),
    )
    op.create_table(
        "registration",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "tool_key",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("private", sa.Text(), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.Column("signs_from", sa.DateTime(), nullable=False),
        sa.Column("retired", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kid", name="uq_tool_key_kid"),
    )
    op.create_table(
        "assignment",
        sa.Column("id", row_number, nullable=False),
        sa.Column("class_id", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.String(length=100), nullable=False),
        sa.Column("opens", sa.DateTime(), nullable=True),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("closes", sa.DateTime(), nullable=True),
        sa.Column("late", sa.Float(), nullable=False),
        sa.Column("grace", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("variants", sa.String(length=10), nullable=False),
        sa.Column("hints", sa.String(length=10), nullable=False),
        sa.Column("hint_cost", sa.Float(), nullable=False),
        sa.Column("solution", sa.String(length=10), nullable=False),
        sa.Column("show_points", sa.Boolean(), nullable=False),
        sa.Column("sitting", sa.Integer(), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["class_id"], ["class.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_assignment_class", "assignment", ["class_id", "id"])
    op.create_table(
        "context",
        sa.Column("platform", sa.BigInteger(), nullable=False),
        sa.Column("deployment", sa.String(length=255), nullable=False),
        sa.Column("context", sa.String(length=255), nullable=False),
        sa.Column("class_id", sa.BigInteger(), nullable=False),
        sa.Column("memberships_url", sa.String(length=2000), nullable=False),
        sa.ForeignKeyConstraint(["class_id"], ["class.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["platform"], ["platform.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("platform", "deployment", "context"),
    )
    op.create_index("ix_context_class", "context", ["class_id"])
    op.create_table(
        "deployment",
        sa.Column("platform", sa.BigInteger(), nullable=False),
        sa.Column("deployment", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["platform"], ["platform.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("platform", "deployment"),
    )
    op.create_table(
        "identity",
        sa.Column("issuer", sa.String(length=255), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("issuer", "subject"),
    )
    op.create_index("ix_identity_person", "identity", ["person"])
    op.create_table(
        "member",
        sa.Column("class_id", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("label", sa.String(length=100), nullable=False),
        sa.Column("outside_id", sa.String(length=255), nullable=False),
        sa.Column("code_digest", sa.String(length=64), nullable=True),
        sa.Column("joined", sa.DateTime(), nullable=False),
        sa.Column("left", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["class_id"], ["class.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("class_id", "person"),
        sa.UniqueConstraint("code_digest", name="uq_member_code"),
    )
    op.create_index("ix_member_outside", "member", ["class_id", "outside_id"])
    op.create_index("ix_member_person", "member", ["person"])
    op.create_table(
        "regrade",
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("correct", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["attempt"], ["attempt.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("attempt", "digest"),
    )
    op.create_table(
        "session",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.Column("seen", sa.DateTime(), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_session_person", "session", ["person"])
    op.create_index("ix_session_until", "session", ["until"])
    op.create_table(
        "assigned",
        sa.Column("assignment", sa.BigInteger(), nullable=False),
        sa.Column("exercise", sa.String(length=200), nullable=False),
        sa.Column("points", sa.Float(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["assignment"], ["assignment.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("assignment", "exercise"),
    )
    op.create_index("ix_assigned_exercise", "assigned", ["exercise"])
    op.create_table(
        "extension",
        sa.Column("assignment", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        sa.Column("why", sa.String(length=500), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["assignment"], ["assignment.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("assignment", "person"),
    )
    op.create_table(
        "link",
        sa.Column("id", row_number, nullable=False),
        sa.Column("platform", sa.BigInteger(), nullable=False),
        sa.Column("deployment", sa.String(length=255), nullable=False),
        sa.Column("resource_link", sa.String(length=255), nullable=False),
        sa.Column("assignment", sa.BigInteger(), nullable=False),
        sa.Column("lineitem_url", sa.String(length=2000), nullable=False),
        sa.Column("lineitems_url", sa.String(length=2000), nullable=False),
        sa.ForeignKeyConstraint(["assignment"], ["assignment.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["platform"], ["platform.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("platform", "resource_link", name="uq_link_resource"),
    )
    op.create_index("ix_link_assignment", "link", ["assignment"])
    op.create_table(
        "override",
        sa.Column("id", row_number, nullable=False),
        sa.Column("assignment", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("exercise", sa.String(length=200), nullable=False),
        sa.Column("points", sa.Float(), nullable=True),
        sa.Column("by", sa.String(length=100), nullable=False),
        sa.Column("why", sa.String(length=500), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["assignment"], ["assignment.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_override_cell", "override", ["assignment", "person", "exercise", "id"])
    op.create_table(
        "sitting",
        sa.Column("assignment", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("began", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["assignment"], ["assignment.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("assignment", "person"),
    )
    op.create_table(
        "outbox",
        sa.Column("link", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("points", sa.Float(), nullable=False),
        sa.Column("sent_points", sa.Float(), nullable=True),
        sa.Column("sent_at", sa.DateTime(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next", sa.DateTime(), nullable=True),
        sa.Column("said", sa.String(length=500), nullable=False),
        sa.CheckConstraint("tries >= 0", name="ck_outbox_tries"),
        sa.ForeignKeyConstraint(["link"], ["link.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["person"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("link", "person"),
    )
    op.create_index("ix_outbox_next", "outbox", ["next"])
    op.add_column("attempt", sa.Column("mistake", sa.String(length=64), nullable=True))
    op.create_index("ix_attempt_exercise_learner", "attempt", ["exercise", "learner", "id"])
    op.add_column("token", sa.Column("scope", sa.String(length=10), nullable=False, server_default="check"))
    op.add_column("token", sa.Column("class_id", sa.BigInteger(), nullable=True))
    op.add_column("token", sa.Column("until", sa.DateTime(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("token") as token:
        for name in ("until", "class_id", "scope"):
            token.drop_column(name)
    op.drop_index("ix_attempt_exercise_learner", "attempt")
    with op.batch_alter_table("attempt") as attempt:
        attempt.drop_column("mistake")
    for table in reversed(TABLES):
        op.drop_table(table)
