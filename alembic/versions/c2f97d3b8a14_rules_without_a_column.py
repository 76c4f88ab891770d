"""rules of assignments without a column of their own"""

import sqlalchemy as sa
from alembic import op

revision = "c2f97d3b8a14"
down_revision = "c41f7be05d92"


def upgrade() -> None:
    op.add_column("assignment", sa.Column("rules", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("assignment", "rules")
