"""Units that are words, such as days.

Units write them in English, wherever they are asked to. Where a quantity becomes a part of a
sentence or of a figure, its word is translated; a text of an exercise keeps its own language.
"""

import re

from app.translation.sentence import noted

# By the symbol that units write; most others are signs, which are the same everywhere.
FORMS = {
    "days": noted("{number} days"),
    "years": noted("{number} years"),
    "GPU-hours": noted("{number} GPU-hours"),
    "PF-days": noted("{number} PF-days"),
    "million": noted("{number} million"),
    "nodes": noted("{number} nodes"),
    "steps": noted("{number} steps"),
    "tokens": noted("{number} tokens"),
    "sequences": noted("{number} sequences"),
    "steps/s": noted("{number} steps/s"),
    "tokens/s": noted("{number} tokens/s"),
    "sequences/s": noted("{number} sequences/s"),
}
_NUMBER = re.compile(r"[-\u2212+~\u2248]?(?:[\d.,]+(?:e-?\d+)?|\u221e)")


def parted(text: str) -> tuple[str, str] | None:
    """The number and the unit of *text*, if it is a number with one of the words."""
    number, _, unit = text.rpartition(" ")
    return (number, unit) if unit in FORMS and _NUMBER.fullmatch(number) else None
