"""What a visitor of an explorer can change, read from an address whatever it holds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.errors import nearest
from app.units import COUNT, RATIO, Scale, Unit, figures, parse, scale_of, show_in

ControlValue = float | str
_STEPS = 200  # of a slider that goes by factors


@dataclass(frozen=True, slots=True)
class Slider:
    """A number from *low* to *high*, in *unit* where it is bare.

    *log*: small ones get room on the slider; *doubles*: it goes by powers of two; *plays*: it can
    run by itself; *aside*: what is to be predicted does not depend on it.
    """

    name: str
    label: str
    low: float
    high: float
    default: float
    unit: str = ""
    log: bool = False
    whole: bool = True
    doubles: bool = False
    plays: bool = False
    aside: bool = False

    @property
    def scale(self) -> Scale:
        """The unit of a bare number."""
        return scale_of(self.unit)

    def text(self, value: float) -> str:
        """*value*, in base units, as the address and the box have it."""
        if not self.unit:
            return f"{int(value)}" if self.whole else f"{value:.6g}"
        return show_in(value, self.scale)

    def read(self, text: str) -> tuple[float, str]:
        """The value of *text* and, where it had to be changed, a sentence that says so."""
        base = self.scale.unit if self.unit else (COUNT if self.whole else RATIO)
        try:
            value = _number(text, base, self.scale)
        except ValueError:
            says = f"{self.label}: {text[:40]!r} is no number; {self.text(self._start)} is shown."
            return self._start, says
        low, high = self.low * self.scale.factor, self.high * self.scale.factor
        kept = min(max(value, low), high)
        if self.whole:
            kept = float(round(kept / self.scale.factor)) * self.scale.factor
        if kept == value:
            return kept, ""
        if low <= value <= high:
            return kept, f"{self.label} is a whole number: {self.text(kept)} is shown."
        edge = "smallest" if value < low else "largest"
        return kept, f"{self.label}: {self.text(kept)} is the {edge} that is drawn."

    @property
    def _start(self) -> float:
        return self.default * self.scale.factor


@dataclass(frozen=True, slots=True)
class Select:
    """One of several: value to text, the first one at the start; *aside* as with a slider."""

    name: str
    label: str
    options: Mapping[str, str]
    aside: bool = False

    def read(self, text: str) -> tuple[str, str]:
        """The value of *text* and, where it had to be changed, a sentence that says so."""
        if text in self.options:
            return text, ""
        start = next(iter(self.options))
        near = nearest(text[:40], self.options)
        return start, f"{self.label}: {text[:40]!r} is not known; {start} is shown{near}"


Control = Slider | Select


def read_controls(
    controls: Sequence[Control], given: Mapping[str, str]
) -> tuple[dict[str, ControlValue], tuple[str, ...]]:
    """The value of each control, and a sentence for each that had to be corrected."""
    values: dict[str, ControlValue] = {}
    corrections = []
    for control in controls:
        text = given.get(control.name, "").strip()
        value: ControlValue
        if text:
            value, says = control.read(text)
            corrections += [says] if says else []
        elif isinstance(control, Slider):
            value = control.default * control.scale.factor
        else:
            value = next(iter(control.options))
        values[control.name] = value
    return values, tuple(corrections)


def address_text(control: Control, value: ControlValue) -> str:
    """*value* as the address has it."""
    if isinstance(control, Slider) and not isinstance(value, str):
        return control.text(value).replace(",", "")
    return str(value)


def shown_text(control: Control, value: ControlValue) -> str:
    """*value* as a sentence has it: in words, or with its unit."""
    if isinstance(control, Select):
        return control.options[str(value)]
    return control.text(float(value))


def slider_place(control: Slider, value: float) -> tuple[float, float, float, str]:
    """Least, largest, present place and step of a range input for *control*."""
    number = value / control.scale.factor
    if control.doubles:
        place = math.log2(max(number, control.low))
        return math.log2(control.low), math.log2(control.high), round(place, 2), "1"
    if control.log:
        low, high = math.log(control.low), math.log(control.high)
        place = _STEPS * (math.log(max(number, control.low)) - low) / (high - low)
        return 0, _STEPS, round(place, 2), "1"
    step = "1" if control.whole else figures((control.high - control.low) / _STEPS, 3)
    return control.low, control.high, number, step


def _number(text: str, unit: Unit, scale: Scale) -> float:
    bare = text.replace(",", "")
    try:
        value = float(bare) * scale.factor
    except ValueError:
        value = parse(text, unit)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
