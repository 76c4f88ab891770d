"""an index that has all that a gradebook needs of an answer"""

from alembic import op

revision = "5e0a94d7c316"
down_revision = "8d2b6f41c9e7"

NAME = "ix_attempt_exercise_learner"
COLUMNS = ["exercise", "learner", "seed", "revealed", "score", "hints", "carried", "at", "id"]


def upgrade() -> None:
    op.drop_index(NAME, "attempt")
    op.create_index(NAME, "attempt", COLUMNS)


def downgrade() -> None:
    op.drop_index(NAME, "attempt")
    op.create_index(NAME, "attempt", ["exercise", "learner", "id"])
