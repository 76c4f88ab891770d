"""answers in assessments, chapters that learners know, boards of schedules"""

import sqlalchemy as sa
from alembic import op

revision = "b71e0c94d5a3"
down_revision = "c8d41e6f2b97"

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "assessed",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("assessment", sa.String(length=9), nullable=False),
        sa.Column("draw", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("exercise", sa.String(length=200), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.String(length=9), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", "assessment", "draw", "number", name="uq_assessed_first"),
    )
    op.create_table(
        "known_chapter",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("chapter", sa.String(length=100), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", "chapter", name="uq_known_chapter"),
    )
    op.create_table(
        "board",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("exercise", sa.String(length=200), nullable=False),
        sa.Column("time", sa.Integer(), nullable=False),
        sa.Column("memory", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", "exercise", name="uq_board_entry"),
    )
    op.create_index("ix_board_points", "board", ["exercise", "time", "memory"])


def downgrade() -> None:
    for name in ("board", "known_chapter", "assessed"):
        op.drop_table(name)
