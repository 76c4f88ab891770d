"""In place of math_core, in a browser: the mathematics that was converted at export.

Numbers are filled in: one conversion serves every drawing of an exercise.
"""

import json
import re
from functools import cache
from pathlib import Path

from written import UnknownError, written

from app.exporting.skeletons import NUMBER, SLOT, skeleton

FILE = Path(__file__).with_name("mathematics.json")
_FILLED = re.compile(rf"{SLOT}(\d+);")


class LatexError(ValueError):
    """The LaTeX cannot be converted; at export, it could be."""


class LatexToMathML:
    """Looks conversions up."""

    def __init__(self, **_: object) -> None:
        pass

    def convert_with_local_state(self, latex: str, *, displaystyle: bool = False) -> str:
        """*latex* as MathML; as it is written, if nothing like it was converted at export."""
        found = _known().get(f"{int(displaystyle)}{skeleton(latex)}")
        if found is None:
            return _written(latex)
        numbers = NUMBER.findall(latex)
        return _FILLED.sub(lambda match: numbers[int(match[1])], found)


def _written(latex: str) -> str:
    """What no text of the course has: a formula of a learner; else the LaTeX as it is."""
    try:
        return written(latex)
    except UnknownError:
        text = latex.replace("&", "&amp;").replace("<", "&lt;")
        return f"<math><mtext>{text}</mtext></math>"


@cache
def _known() -> dict[str, str]:
    known: dict[str, str] = json.loads(FILE.read_text("utf-8"))
    return known
