"""titles of courses of platforms"""

import sqlalchemy as sa
from alembic import op

revision = "7f2a90c4d1e6"
down_revision = "a4e09d17c3b8"


def upgrade() -> None:
    op.add_column("context", sa.Column("title", sa.String(length=100), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("context", "title")
