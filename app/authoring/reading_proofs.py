"""Proofs of the questions that the opening of a chapter asks its readers."""

from collections.abc import Iterator

from app.core.expressions import ExpressionError
from app.course.content.opening_places import opening_parts
from app.course.content.topic_file import ReadingQuestion, TopicFile
from app.course.kinds import Finding, Where
from app.course.kinds.answer_key import telling_figures


def prove_reading_questions(topic: TopicFile) -> Iterator[Finding]:
    """Everything wrong with the answers of the questions in the opening of *topic*."""
    read = ""
    for part in opening_parts(topic.opening):
        read += part.text
        if part.question is not None:
            where: Where = ("questions", part.question)
            yield from _prove(where, topic.questions[part.question], read)


def _prove(where: Where, asked: ReadingQuestion, read: str) -> Iterator[Finding]:
    """What is wrong with *asked*, which stands below the text that was *read*."""
    try:
        key = asked.key()
        for expression, says in key.clashes():
            yield Finding((*where, "mistakes", expression), says)
    except ExpressionError as error:
        yield Finding((*where, "answer"), str(error))
        return
    for figure in sorted(telling_figures([key])):
        if figure in f"{read} {asked.prompt}":
            says = f"the answer, {figure}, stands above the question"
            yield Finding((*where, "prompt"), says, "ask about other numbers")
