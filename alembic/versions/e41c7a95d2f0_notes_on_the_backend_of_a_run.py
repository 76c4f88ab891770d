"""notes on the choice of a run's backend"""

import sqlalchemy as sa
from alembic import op

revision = "e41c7a95d2f0"
down_revision = "b5c1d7e0a942"


def upgrade() -> None:
    op.add_column("lab_run", sa.Column("notes", sa.Text(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("lab_run", "notes")
