"""groups with dates of their own"""

import sqlalchemy as sa
from alembic import op

revision = "9d2c6e80b4f7"
down_revision = "3a7d52e9b041"


def upgrade() -> None:
    op.add_column("member", sa.Column("group_name", sa.String(100), nullable=False, server_default=""))
    op.create_table(
        "group_dates",
        sa.Column("assignment", sa.BigInteger(), nullable=False),
        sa.Column("group_name", sa.String(100), nullable=False),
        sa.Column("opens", sa.DateTime(), nullable=True),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("closes", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["assignment"], ["assignment.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("assignment", "group_name"),
    )


def downgrade() -> None:
    op.drop_table("group_dates")
    op.drop_column("member", "group_name")
