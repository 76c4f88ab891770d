"""what assignments are copies of"""

import sqlalchemy as sa
from alembic import op

revision = "1c5a7e93d0b4"
down_revision = "5e0a94d7c316"


def upgrade() -> None:
    op.add_column("assignment", sa.Column("origins", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("assignment", "origins")
