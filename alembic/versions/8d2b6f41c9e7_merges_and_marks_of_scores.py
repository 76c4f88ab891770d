"""persons who are one, and up to where points were sent"""

import sqlalchemy as sa
from alembic import op

revision = "8d2b6f41c9e7"
down_revision = "4e9a1c7b5d20"

# SQLite numbers rows automatically only if the key's type is exactly INTEGER.
row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "merge",
        sa.Column("id", row_number, nullable=False),
        sa.Column("kept", sa.BigInteger(), nullable=False),
        sa.Column("gone", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("undone", sa.DateTime(), nullable=True),
        sa.Column("moved", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["kept"], ["person.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["gone"], ["person.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_merge_kept", "merge", ["kept"])
    op.create_index("ix_merge_gone", "merge", ["gone"])
    op.add_column("assignment", sa.Column("changed", sa.DateTime(), nullable=True))
    op.add_column("link", sa.Column("posted", sa.DateTime(), nullable=True))
    op.add_column("outbox", sa.Column("answered", sa.DateTime(), nullable=True))


def downgrade() -> None:
    op.drop_column("outbox", "answered")
    op.drop_column("link", "posted")
    op.drop_column("assignment", "changed")
    op.drop_table("merge")
