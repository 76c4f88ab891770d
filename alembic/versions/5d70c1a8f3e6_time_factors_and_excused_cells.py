"""factors of the time in exams, by member, and cells that are left out of every sum"""

import sqlalchemy as sa
from alembic import op

revision = "5d70c1a8f3e6"
down_revision = "c2f97d3b8a14"


def upgrade() -> None:
    op.add_column("member", sa.Column("time_factor", sa.Float(), nullable=False, server_default="1"))
    op.add_column("override", sa.Column("excused", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("override", "excused")
    op.drop_column("member", "time_factor")
