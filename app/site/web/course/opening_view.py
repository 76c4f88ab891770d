"""The opening of a chapter as plain values: text, figures, and questions that a reader predicts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from app.core.errors import AnswerError, sentence
from app.core.translation import translate
from app.course.content.catalog import Topic
from app.course.content.glossary import mark
from app.course.content.opening_places import opening_parts
from app.course.content.topic_file import ReadingQuestion
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.figures import Embedded
from app.site.markdown import html, inline_html
from app.site.web.explore.figures import EmbeddedView, embedded_view
from app.site.web.explore.prediction_check import read_prediction

_LONGEST = 60  # characters of a prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A question in a text; *says* is empty until it is answered, *right* None if it is not read.

    *others* are the fields that keep what was typed for the other questions.
    """

    number: int
    prompt: Markup
    typed: str
    others: tuple[tuple[str, str], ...]
    right: bool | None = None
    verdict: Markup = Markup("")
    says: Markup = Markup("")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningView:
    """A piece of an opening: text, a figure, or a question."""

    text: Markup = Markup("")
    figure: EmbeddedView | None = None
    question: QuestionView | None = None


def opening_views(topic: Topic, typed: Mapping[str, str]) -> Iterator[OpeningView]:
    """The opening of *topic*, where *typed* has the predictions by the fields `q1`, `q2`, ..."""
    given = {name: typed[name] for name in _fields(topic) if name in typed}
    for part in opening_parts(topic.opening):
        if part.figure is not None:
            yield OpeningView(figure=fixed_figure(topic.figures[part.figure]))
        elif part.question is not None:
            asked = topic.questions[part.question]
            yield OpeningView(question=_question(asked, part.question + 1, given))
        else:
            yield OpeningView(text=mark(html(part.text)))


def unplaced_figures(topic: Topic) -> tuple[EmbeddedView, ...]:
    """The figures of *topic* that have no place in its opening."""
    placed = {part.figure for part in opening_parts(topic.opening)}
    return tuple(fixed_figure(figure) for index, figure in enumerate(topic.figures) if index not in placed)


def fixed_figure(figure: Embedded) -> EmbeddedView:
    """*figure* of a chapter, whose state is fixed."""
    return embedded_view(figure, {name: str(text) for name, text in figure.state.items()})


def _fields(topic: Topic) -> Iterator[str]:
    return (f"q{number}" for number in range(1, len(topic.questions) + 1))


def _question(asked: ReadingQuestion, number: int, given: Mapping[str, str]) -> QuestionView:
    own = f"q{number}"
    others = tuple((name, text) for name, text in given.items() if name != own)
    prompt, typed = mark(inline_html(asked.prompt)), given.get(own, "")[:_LONGEST].strip()
    blank = QuestionView(number=number, prompt=prompt, typed=typed, others=others)
    if own not in given:
        return blank
    key = asked.key()
    if not typed:
        return _answered(blank, None, _told(key), asked.says)
    try:
        found = key.judge(read_prediction(asked, typed))
    except AnswerError as error:
        return _answered(blank, None, sentence(str(error)), "")
    verdict = found.says if found.correct else f"{found.says} {_told(key)}"
    return _answered(blank, found.correct, verdict, asked.says)


def _told(key: AnswerKey) -> str:
    return translate("The answer is {value}.", value=key.shown())


def _answered(blank: QuestionView, right: bool | None, verdict: str, says: str) -> QuestionView:
    """*blank* with a *verdict* and what the chapter *says* then, both Markdown."""
    return replace(blank, right=right, verdict=mark(inline_html(verdict)), says=mark(html(says)))
