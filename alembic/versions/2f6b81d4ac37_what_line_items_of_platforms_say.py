"""what line items of platforms say"""

import sqlalchemy as sa
from alembic import op

revision = "2f6b81d4ac37"
down_revision = "7f2a90c4d1e6"


def upgrade() -> None:
    op.add_column("link", sa.Column("item_digest", sa.String(length=64), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("link", "item_digest")
