"""weights and lowest left out"""

import sqlalchemy as sa
from alembic import op

revision = "3a7d52e9b041"
down_revision = "6d3f80b2a915"


def upgrade() -> None:
    op.add_column("class", sa.Column("lowest", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("assignment", sa.Column("weight", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("assignment", "weight")
    op.drop_column("class", "lowest")
