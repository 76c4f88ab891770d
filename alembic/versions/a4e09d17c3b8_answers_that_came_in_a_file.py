"""answers that came in a file"""

import sqlalchemy as sa
from alembic import op

revision = "a4e09d17c3b8"
down_revision = "d0130defa7fd"


def upgrade() -> None:
    op.add_column("attempt", sa.Column("carried", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("attempt", "carried")
