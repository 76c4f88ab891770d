"""attempts, reveals and tokens"""

import sqlalchemy as sa
from alembic import op

revision = "7ec20991a909"
down_revision = None

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "attempt",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("exercise", sa.String(length=200), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.String(length=20_000), nullable=False),
        sa.Column("correct", sa.Boolean(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("hints", sa.Integer(), nullable=False),
        sa.Column("revealed", sa.Boolean(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("drawn", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_attempt_learner", "attempt", ["learner", "id"])
    op.create_index("ix_attempt_learner_exercise", "attempt", ["learner", "exercise", "id"])
    op.create_table(
        "reveal",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("exercise", sa.String(length=200), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", "exercise", "seed", "number", name="uq_reveal_shown"),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("revoked", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="uq_token_name"),
        sa.UniqueConstraint("digest", name="uq_token_digest"),
    )


def downgrade() -> None:
    op.drop_table("token")
    op.drop_table("reveal")
    op.drop_table("attempt")
