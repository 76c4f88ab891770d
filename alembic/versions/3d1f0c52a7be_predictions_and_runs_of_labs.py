"""predictions, and the queue of runs of labs"""

import sqlalchemy as sa
from alembic import op

revision = "3d1f0c52a7be"
down_revision = "7ec20991a909"

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "prediction",
        sa.Column("id", row_number, nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("exercise", sa.String(length=200), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("learner", "exercise", "seed", name="uq_prediction_first"),
    )
    op.create_table(
        "lab_run",
        sa.Column("id", row_number, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("lab", sa.String(length=100), nullable=False),
        sa.Column("given", sa.Text(), nullable=False),
        sa.Column("backend", sa.String(length=100), nullable=False),
        sa.Column("host", sa.String(length=200), nullable=False),
        sa.Column("pool", sa.String(length=200), nullable=False),
        sa.Column("learner", sa.String(length=64), nullable=False),
        sa.Column("origin", sa.String(length=200), nullable=False),
        sa.Column("predicted", sa.Float(), nullable=True),
        sa.Column("state", sa.String(length=100), nullable=False),
        sa.Column("says", sa.Text(), nullable=False),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("worker", sa.String(length=200), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("asked", sa.DateTime(), nullable=False),
        sa.Column("beat", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="uq_lab_run_name"),
    )
    op.create_index("ix_lab_run_state", "lab_run", ["state", "host", "id"])
    op.create_index("ix_lab_run_lab", "lab_run", ["lab", "id"])
    op.create_index(
        "uq_lab_run_pool",
        "lab_run",
        ["pool"],
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )


def downgrade() -> None:
    op.drop_table("lab_run")
    op.drop_table("prediction")
