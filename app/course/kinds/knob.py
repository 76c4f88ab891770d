"""What a design exercise lets one choose: a knob, and the values it can have."""

import math
from dataclasses import dataclass

from pydantic import Field

from app.core.expressions import evaluate, read_answer
from app.core.units import check_clear, figures, scale_of, show_typed
from app.core.units.typed_numbers import without_commas
from app.course.kinds.drawn_values import DrawnValue
from app.course.kinds.strict import Markdown, Strict


@dataclass(frozen=True, slots=True)
class KnobRow:
    """Something to choose, and the values that it may have, as they are shown."""

    name: str
    says: str
    among: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DesignQuestion:
    """The values to choose."""

    knobs: tuple[KnobRow, ...]


class Knob(Strict):
    """Something to choose."""

    says: Markdown = Field(description="what it is")
    among: list[DrawnValue] = Field(min_length=2, max_length=12, description="the values to choose from")

    def place(self, text: str) -> int | None:
        """The place of the value that *text* says; None where it says none of them."""
        for place, value in enumerate(self.among):
            if _plain(text) in (_plain(shown_value(value)), _plain(str(value))):
                return place
        return self._equal(text)

    def _equal(self, text: str) -> int | None:
        """The place of the value that *text* equals; a bare number is in the unit they share."""
        units = {_unit(value) for value in self.among}
        try:
            check_clear(text)
            typed = read_answer(text, scale_of(units.pop() if len(units) == 1 else ""))
            values = [evaluate(str(value), {}).value for value in self.among]
        except ValueError:
            return None
        equal = (p for p, value in enumerate(values) if math.isclose(typed.value, value))
        return next(equal, None)


def shown_value(value: DrawnValue) -> str:
    """*value* as a person writes it."""
    return show_typed(value) if isinstance(value, str) else figures(float(value), 6)


def _unit(value: DrawnValue) -> str:
    """The unit in which *value* is written, or nothing."""
    return str(value).lstrip("0123456789.,e+- ")


def _plain(text: str) -> str:
    plain = without_commas(text).replace(" ", "").casefold()
    return plain.removesuffix(".0")
