"""Numbers that a learner may have written in the form of another language."""

import re
from collections.abc import Mapping

from app.errors import AnswerError
from app.kinds.answer_key import AnswerKey
from app.translation import has_decimal_comma, translate
from app.units import Reading, figures

_THOUSAND = 1000
_POINT_OR_GROUP = re.compile(r"(?<![\w.,])[1-9]\d{0,2}\.\d{3}(?![\d.,]|[eE][-+\d])")


def refuse_unclear(text: str) -> None:
    """Ask what 112.000 is, where the page writes 112,000 with another sign than a comma.

    Raises:
        AnswerError: a number in *text* may be a thousand times as large as it reads in English.
    """
    found = _POINT_OR_GROUP.search(text) if has_decimal_comma() else None
    if found:
        number = float(found[0])
        raise AnswerError(
            translate(
                "{number!r} may be {large} or {small}: write one of these",
                number=found[0],
                large=figures(_THOUSAND * number),
                small=figures(number),
            )
        )


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
