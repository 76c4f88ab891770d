"""The words and the figure on the picture of an explorer."""

from app.charts.card import Card
from app.explorers import Explored, Explorer, Values, question, settings_text, untold
from app.translation import translate
from app.web.frame.preview import first_sentence, plain_words


def explorer_card(
    explorer: Explorer, chapter: str, values: Values, shown: Explored, *, hidden: bool
) -> Card:
    """An explorer in one state; while the answer is *hidden*, what stands beside the question."""
    figures = tuple(untold(explorer, shown)) if hidden else shown.figures
    told = first_sentence(shown.says or translate(explorer.summary))
    settings = settings_text(explorer, values) or translate("explorer")
    return Card(
        kicker=f"{chapter} · {settings}",
        title=translate(explorer.title),
        says=plain_words(question(explorer, values)) if hidden else told,
        figure=next(iter(figures), None),
    )
