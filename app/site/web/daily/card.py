"""The words on the picture of the question of a day."""

from app.core.charts.card import PictureCard
from app.course.content.daily import DailyQuestion
from app.site.web.frame.preview import plain_words


def daily_card(question: DailyQuestion) -> PictureCard:
    """The question of a day, which is all that one knows before guessing."""
    return PictureCard(
        kicker=f"Guess the step · question {question.number}", title=question.title, says=plain_words(question.asks)
    )
