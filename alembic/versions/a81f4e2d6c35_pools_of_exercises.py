"""pools of exercises"""

import sqlalchemy as sa
from alembic import op

revision = "a81f4e2d6c35"
down_revision = "9d2c6e80b4f7"


def upgrade() -> None:
    op.add_column("assigned", sa.Column("pool", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("assignment", sa.Column("draws", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("assignment", "draws")
    op.drop_column("assigned", "pool")
