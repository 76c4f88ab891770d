"""The words on the picture of the question of a day."""

from app.charts.card import Card
from app.content.daily import DailyQuestion
from app.web.frame.preview import plain_words


def daily_card(question: DailyQuestion) -> Card:
    """The question of a day, which is all that one knows before guessing."""
    return Card(
        kicker=f"Guess the step · question {question.number}",
        title=question.title,
        says=plain_words(question.asks),
    )
