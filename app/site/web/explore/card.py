"""The words and the figure on the picture of an explorer."""

from app.core.charts.card import PictureCard
from app.core.translation import translate
from app.course.explorers import Explored, Explorer, Values, guess_question, settings_text, untold
from app.site.web.frame.preview import first_sentence, plain_words


def explorer_card(explorer: Explorer, chapter: str, values: Values, shown: Explored, *, hidden: bool) -> PictureCard:
    """An explorer in one state; while the answer is *hidden*, what stands beside the question."""
    figures = tuple(untold(explorer, shown)) if hidden else shown.figures
    told = first_sentence(shown.says or translate(explorer.summary))
    settings = settings_text(explorer, values) or translate("explorer")
    return PictureCard(
        kicker=f"{chapter} · {settings}",
        title=translate(explorer.title),
        says=plain_words(guess_question(explorer, values)) if hidden else told,
        figure=next(iter(figures), None),
    )
