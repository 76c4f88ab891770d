"""roles that launches name"""

import sqlalchemy as sa
from alembic import op

revision = "6d3f80b2a915"
down_revision = "1c5a7e93d0b4"


def upgrade() -> None:
    op.add_column("member", sa.Column("launched", sa.String(length=10), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("member", "launched")
