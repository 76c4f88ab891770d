"""who opened a way in, and merges that wait for a yes"""

import sqlalchemy as sa
from alembic import op

revision = "c41f7be05d92"
down_revision = "a81f4e2d6c35"


def upgrade() -> None:
    op.add_column("person", sa.Column("entered", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("identity", sa.Column("own", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("identity", sa.Column("doubted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("session", sa.Column("issuer", sa.String(length=255), nullable=False, server_default=""))
    op.add_column("session", sa.Column("subject", sa.String(length=255), nullable=False, server_default=""))
    op.add_column("merge", sa.Column("class_id", sa.BigInteger(), nullable=True))
    op.add_column("merge", sa.Column("waits", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("merge", "waits")
    op.drop_column("merge", "class_id")
    op.drop_column("session", "subject")
    op.drop_column("session", "issuer")
    op.drop_column("identity", "doubted")
    op.drop_column("identity", "own")
    op.drop_column("person", "entered")
