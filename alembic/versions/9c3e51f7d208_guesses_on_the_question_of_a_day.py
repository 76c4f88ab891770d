"""guesses on the question of a day"""

import sqlalchemy as sa
from alembic import op

revision = "9c3e51f7d208"
down_revision = "e41c7a95d2f0"

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "daily_guess",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("question", sa.String(length=100), nullable=False),
        sa.Column("answer", sa.String(length=500), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", "day", name="uq_daily_guess_first"),
    )
    op.create_index("ix_daily_guess_spread", "daily_guess", ["day", "question", "place"])


def downgrade() -> None:
    op.drop_table("daily_guess")
