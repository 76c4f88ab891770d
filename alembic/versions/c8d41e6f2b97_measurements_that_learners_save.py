"""measurements that learners save"""

import sqlalchemy as sa
from alembic import op

revision = "c8d41e6f2b97"
down_revision = "2f6b81d4ac37"

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "measurement",
        sa.Column("id", row_number, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=100), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("given", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="uq_measurement_name"),
    )
    op.create_index("ix_measurement_learner", "measurement", ["learner", "id"])


def downgrade() -> None:
    op.drop_table("measurement")
