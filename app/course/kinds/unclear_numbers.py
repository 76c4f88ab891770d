"""Numbers that a learner may have written in the form of another language."""

from collections.abc import Mapping

from app.core.errors import AnswerError
from app.core.translation import localized
from app.core.units import Reading, check_clear
from app.course.kinds.answer_key import AnswerKey


def refuse_unclear(text: str) -> None:
    """Ask what 112.000 is, where the page writes 112,000 with another sign than a comma.

    Raises:
        AnswerError: a number in *text* may be a thousand times as large as it reads in English.
    """
    try:
        check_clear(text)
    except ValueError as error:
        raise AnswerError(localized(str(error))) from error


def refuse_unclear_answers(
    keys: Mapping[str, AnswerKey], readings: Mapping[str, Reading], texts: Mapping[str, str]
) -> None:
    """Ask about each of *texts* that is not right as it was read, and may mean another number.

    Raises:
        AnswerError: one of them is not clear.
    """
    for name, reading in readings.items():
        if not keys[name].holds(reading):
            refuse_unclear(texts[name])
