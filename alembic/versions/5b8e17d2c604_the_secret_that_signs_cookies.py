"""the secret that signs cookies

Before, it was in a file next to the database: restoring a backup elsewhere lost it, and two servers
of one PostgreSQL database had two. `app.server.db.learner_cookie` imports the file when the site starts.
"""

import sqlalchemy as sa
from alembic import op

revision = "5b8e17d2c604"
down_revision = "3d1f0c52a7be"


def upgrade() -> None:
    op.create_table(
        "secret",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    op.drop_table("secret")
