"""The words on the picture of an exercise."""

from app.core.charts.card import PictureCard
from app.course.kinds import Exercise
from app.site.web.frame.preview import plain_words


def exercise_card(exercise: Exercise, chapter: str, seed: int) -> PictureCard:
    """The question of an exercise, which is all that one knows before answering."""
    return PictureCard(
        kicker=f"{chapter} · {exercise.kind_title}",
        title=exercise.title,
        says=plain_words(exercise.variant(seed).prompt),
    )
