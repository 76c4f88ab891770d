"""The opening of a chapter: its text, and the figures and the questions that stand in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.course.content.topic_file import TopicFile

_PLACE = re.compile(r"^\{(figure|question) (\d{1,2})\}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OpeningPart:
    """A piece of an opening: a Markdown *text*, or the place of a figure or a question.

    *figure* and *question* are indices into the lists of the chapter, from 0.
    """

    text: str = ""
    figure: int | None = None
    question: int | None = None


def opening_parts(opening: str) -> Iterator[OpeningPart]:
    """The pieces of *opening*, in order.

    >>> [part.text or part.figure for part in opening_parts("Before.\\n\\n{figure 1}\\n\\nAfter.")]
    ['Before.', 0, 'After.']
    """
    end = 0
    for place in _PLACE.finditer(opening):
        if text := opening[end : place.start()].strip():
            yield OpeningPart(text)
        index = int(place[2]) - 1
        is_figure = place[1] == "figure"
        yield OpeningPart(figure=index) if is_figure else OpeningPart(question=index)
        end = place.end()
    if text := opening[end:].strip():
        yield OpeningPart(text)


def misplaced(topic: TopicFile) -> Iterator[tuple[str, str]]:
    """What is wrong with the places in the opening of *topic*, each with its cure."""
    parts = list(opening_parts(topic.opening))
    figures = [part.figure for part in parts if part.figure is not None]
    questions = [part.question for part in parts if part.question is not None]
    for what, indices, count in (
        ("figure", figures, len(topic.figures)),
        ("question", questions, len(topic.questions)),
    ):
        for index in sorted({one for one in indices if not 0 <= one < count}):
            says = f"has a place for {what} {index + 1}, and `{what}s` lists {count}"
            yield says, f"list it, or remove {{{what} {index + 1}}}"
        for index in sorted({one for one in indices if indices.count(one) > 1}):
            yield f"has two places for {what} {index + 1}", "keep one of them"
    for index in sorted(set(range(len(topic.questions))) - set(questions)):
        cure = f"write {{question {index + 1}}} on a line of its own"
        yield f"has no place for question {index + 1}", cure
