"""What `topic.yaml`, the file of a chapter, may say, and the figures and questions in its opening."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, field_validator

from app.course.kinds.answer_key import AnswerKey, AskedQuantity, Mistake, keys_of
from app.course.kinds.base import EmbeddedFigures, ExerciseFigure, Strict
from app.course.kinds.drawn_values import ChapterParameters

TOPIC_FILE = "topic.yaml"
Route = Literal["train", "serve", "cluster"]


class ChapterFact(Strict):
    """A formula or a constant that a chapter uses, with the page that explains it."""

    name: str = Field(min_length=2, max_length=40, description="what it is: 2 to 40 characters")
    says: str = Field(min_length=1, max_length=60, description="its value: 1 to 60 characters")
    formula: str = Field(default="", description="the formula that it is, by name")
    see: str = Field(default="", description="the page of this site that explains it")


class ReadingQuestion(AskedQuantity):
    """A quantity that a reader predicts before the text says more about it."""

    prompt: str = Field(min_length=10, description="the question, in Markdown")
    says: str = Field(min_length=10, description="what is said once it is answered, in Markdown")

    @field_validator("mistakes")
    @classmethod
    def _are_worth_nothing(cls, mistakes: dict[str, Mistake]) -> dict[str, Mistake]:
        if any(mistake.score for mistake in mistakes.values()):
            raise ValueError("have a score, which is for exercises: a question here has no points")
        return mistakes

    def key(self) -> AnswerKey:
        """What counts as right.

        Raises:
            ExpressionError: its answer has no value.
        """
        return keys_of({"": self}, {}, lambda says, _: says)[""]


class TopicFile(Strict):
    """The content of `topic.yaml`."""

    title: str = Field(min_length=2, max_length=60, description="2 to 60 characters")
    position: float = Field(
        default=1000,
        description="place among the chapters, if course.yaml does not say it; the built-in ones are 1, 2, ...",
    )
    summary: str = Field(min_length=10, max_length=200, description="one sentence, for the list")
    needs: list[str] = Field(default=[], description="the chapters that it builds on, by folder")
    routes: list[Route] = Field(default=[], description="the routes that it is on, besides the one of all chapters")
    placement: str = Field(default="", description="the exercise of this chapter that the placement asks, by file name")
    opening: str = Field(
        min_length=1,
        description="Markdown, above the exercises; {figure 1} on a line of its own is the place "
        "of the first figure, {question 1} that of the first question, and after {frame 3} the figure "
        "that moves shows its frame 3",
    )
    closing: str = Field(default="", description="Markdown: what one can now compute, shown when the path is finished")
    facts: list[ChapterFact] = Field(default=[], description="formulas and constants, shown beside the exercises")
    figures: list[EmbeddedFigures | ExerciseFigure] = Field(
        default=[],
        description="explorers, and figures that `draws` names: where the opening has a place for them, else below "
        "it; the first that moves stands beside the text",
    )
    questions: list[ReadingQuestion] = Field(
        default=[], description="what a reader predicts where the opening has a place for it"
    )
    parameters: ChapterParameters = Field(
        default={}, description="numbers that a learner sets once, for all of its exercises"
    )


_PLACE = re.compile(r"^\{(figure|question|frame) (\d{1,2})\}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OpeningPart:
    """A piece of an opening: a Markdown *text*, or the place of a figure or a question.

    *figure* and *question* are indices into the lists of the chapter, from 0; *frame* is what the
    figure beside the text shows meanwhile.
    """

    text: str = ""
    figure: int | None = None
    question: int | None = None
    frame: int | None = None


def opening_parts(opening: str) -> Iterator[OpeningPart]:
    """The pieces of *opening*, in order.

    >>> [part.text or part.figure for part in opening_parts("Before.\\n\\n{figure 1}\\n\\nAfter.")]
    ['Before.', 0, 'After.']
    """
    end, frame = 0, None
    for place in _PLACE.finditer(opening):
        if text := opening[end : place.start()].strip():
            yield OpeningPart(text, frame=frame)
        number, end = int(place[2]), place.end()
        if place[1] == "frame":
            frame = number
        else:
            yield OpeningPart(figure=number - 1) if place[1] == "figure" else OpeningPart(question=number - 1)
    if text := opening[end:].strip():
        yield OpeningPart(text, frame=frame)


def with_places_after(opening: str, figures: Sequence[EmbeddedFigures | ExerciseFigure], questions: int) -> str:
    """*opening*, with its places renumbered to come after *figures* and *questions* of others.

    Its frames go where one of those figures moves: that one stands beside the text.

    >>> with_places_after("{question 1}", [], 2)
    '{question 3}'
    """
    moves = any(isinstance(figure, ExerciseFigure) for figure in figures)
    more = {"figure": len(figures), "question": questions, "frame": 0}

    def renumbered(place: re.Match[str]) -> str:
        gone = moves and place[1] == "frame"
        return "" if gone else f"{{{place[1]} {int(place[2]) + more[place[1]]}}}"

    return _PLACE.sub(renumbered, opening)


def find_misplaced(topic: TopicFile) -> Iterator[tuple[str, str]]:
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
