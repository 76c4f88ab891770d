"""The number of a line as a learner writes it."""

from app.core.errors import AnswerError
from app.core.translation import translate
from app.course.kinds.answers import Answer, single_text


def read_line(answer: Answer, count: int) -> int:
    """The line that *answer* names, from 1 to *count*.

    Raises:
        AnswerError: it is not such a number.
    """
    text = single_text(answer).strip().lower().removeprefix("line").strip(" #")
    if not text:
        raise AnswerError(translate("choose a line first"))
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(count))):
        raise AnswerError(
            translate("the answer must be a line number from 1 to {count}, not {text!r}", count=count, text=text[:20])
        )
    if not 1 <= int(text) <= count:
        raise AnswerError(
            translate("line {line} does not exist: the listing has {count} lines", line=int(text), count=count)
        )
    return int(text)
