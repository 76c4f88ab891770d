"""What `topic.yaml`, the file of a chapter, may say."""

from typing import Literal

from pydantic import Field, field_validator

from app.course.kinds.answer_key import AnswerKey, keys_of
from app.course.kinds.figures import Embedded
from app.course.kinds.mistake import Mistake
from app.course.kinds.parameters import ChapterParameters
from app.course.kinds.quantity import AskedQuantity
from app.course.kinds.strict import Strict

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
    position: float = Field(description="place among the chapters; the built-in ones are 1, 2, ...")
    part: str = Field(default="", description="the part that it stands in, by name in parts.yaml")
    summary: str = Field(min_length=10, max_length=200, description="one sentence, for the list")
    needs: list[str] = Field(default=[], description="the chapters that come before it on the map, by folder")
    routes: list[Route] = Field(default=[], description="the routes that it is on, besides the one of all chapters")
    placement: str = Field(default="", description="the exercise of this chapter that the placement asks, by file name")
    opening: str = Field(
        min_length=1,
        description="Markdown, above the exercises; {figure 1} on a line of its own is the place "
        "of the first figure, and {question 1} that of the first question",
    )
    closing: str = Field(default="", description="Markdown: what one can now compute, shown when the path is finished")
    facts: list[ChapterFact] = Field(default=[], description="formulas and constants, shown beside the exercises")
    figures: list[Embedded] = Field(
        default=[], description="explorers: where the opening has a place for them, else below it"
    )
    questions: list[ReadingQuestion] = Field(
        default=[], description="what a reader predicts where the opening has a place for it"
    )
    parameters: ChapterParameters = Field(
        default={}, description="numbers that a learner sets once, for all of its exercises"
    )
