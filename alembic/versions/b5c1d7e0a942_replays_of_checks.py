"""replays of checks that were sent with an Idempotency-Key"""

import sqlalchemy as sa
from alembic import op

revision = "b5c1d7e0a942"
down_revision = "5b8e17d2c604"

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "replay",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", "key", name="uq_replay_key"),
    )
    op.create_index("ix_replay_at", "replay", ["at"])


def downgrade() -> None:
    op.drop_table("replay")
