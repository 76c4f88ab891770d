"""The controls of an explorer, and how their values are read from a URL, valid or not."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace

from app.core.errors import nearest
from app.core.translation import noted, translate, translate_known
from app.core.units import COUNT, RATIO, Scale, clear_text, figures, in_english, read, scale_of, show_in

ControlValue = float | str
_STEPS = 200  # of a logarithmic slider
_SAME = 1e-12  # relative: 100 µs is the end of a slider to 100 in µs
_SHOWN = 9  # digits of a number in a sentence
_NOT_WHOLE = noted("{label} must be a whole number; using {value}.")
_SMALLEST = noted("{label}: {value} is the smallest value; using that.")
_LARGEST = noted("{label}: {value} is the largest value; using that.")


@dataclass(frozen=True, slots=True)
class Slider:
    """A number between *ends*; a bare number is in *unit*.

    *log*: the slider is logarithmic; *whole*: whole numbers only; *doubles*: it steps by powers of
    two; *aside*: the number to predict does not depend on it.
    *group* is the heading it stands under, where an explorer has many controls.
    """

    name: str
    label: str
    ends: tuple[float, float]
    _: KW_ONLY
    default: float
    unit: str = ""
    log: bool = False
    whole: bool = True
    doubles: bool = False
    aside: bool = False
    group: str = ""

    @property
    def low(self) -> float:
        """The smallest number."""
        return self.ends[0]

    @property
    def high(self) -> float:
        """The largest number."""
        return self.ends[1]

    @property
    def scale(self) -> Scale:
        """The unit of a bare number."""
        return scale_of(self.unit)

    def text(self, value: float) -> str:
        """*value*, in base units, as written in the URL and in the text box."""
        if not self.unit:
            return f"{int(value)}" if self.whole else f"{value:.6g}".replace("e-0", "e-")
        return show_in(value, self.scale)

    def read(self, text: str) -> tuple[float, str]:
        """The value of *text*, and a sentence that says so if it had to be corrected."""
        try:
            value = self._number(text)
        except ValueError as error:
            label, start = translate(self.label), self.default * self.scale.factor
            says = translate(
                "{label}: {problem}; using {value}.", label=label, problem=str(error), value=self.text(start)
            )
            return start, says
        low, high = self.low * self.scale.factor, self.high * self.scale.factor
        kept = min(max(value, low), high)
        if self.whole:
            kept = float(round(kept / self.scale.factor)) * self.scale.factor
        if math.isclose(kept, value, rel_tol=_SAME):
            return kept, ""
        if low <= value <= high:
            return kept, translate(_NOT_WHOLE, label=translate(self.label), value=self.text(kept))
        form = _SMALLEST if value < low else _LARGEST
        return kept, translate(form, label=translate(self.label), value=self.text(kept))

    def _number(self, text: str) -> float:
        """The number that *text* is.

        Raises:
            ValueError: it is none, or may be one or another.
        """
        typed = in_english(text, whole=self.whole)
        base = self.scale.unit if self.unit else (COUNT if self.whole else RATIO)
        try:
            value = float(typed) * self.scale.factor  # as its ends are
        except ValueError:
            return read(typed, base, self.scale).value
        return value if math.isfinite(value) else read(typed, base, self.scale).value


def log_slider(
    name: str, label: str, ends: tuple[float, float], default: float, unit: str = "", *, aside: bool = False
) -> Slider:
    """A logarithmic slider of numbers that need not be whole."""
    return Slider(name, label, ends, default=default, unit=unit, log=True, whole=False, aside=aside)


@dataclass(frozen=True, slots=True)
class Select:
    """One of several options, value to text; the first is the default. The rest as in Slider."""

    name: str
    label: str
    options: Mapping[str, str]
    aside: bool = False
    group: str = ""
    own: Callable[[str], str] | None = None  # reads a value that is not among the options

    def read(self, text: str) -> tuple[str, str]:
        """The value of *text*, and a sentence that says so if it had to be corrected."""
        if text in self.options:
            return text, ""
        if self.own:
            with suppress(ValueError):
                return self.own(text), ""
        start = next(iter(self.options))
        near = nearest(text[:40], self.options)
        says = translate(
            "{label}: {text!r} is not an option; using {start}{near}",
            label=translate(self.label),
            text=text[:40],
            start=start,
            near=near,
        )
        return start, says


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


def in_group(name: str, *controls: Control) -> tuple[Control, ...]:
    """*controls* under the heading *name*."""
    return tuple(replace(control, group=name) for control in controls)


def group_controls(controls: Sequence[Control]) -> dict[str, list[Control]]:
    """The controls by their groups, in the order in which the first of each group stands."""
    found: dict[str, list[Control]] = {}
    for control in controls:
        found.setdefault(control.group, []).append(control)
    return found


def address_text(control: Control, value: ControlValue) -> str:
    """*value* as written in the URL, which every page reads alike."""
    if isinstance(control, Slider) and not isinstance(value, str):
        return clear_text(control.text(value).replace(",", ""))
    return str(value)


def shown_text(control: Control, value: ControlValue) -> str:
    """*value* as written in a sentence: in words, or with its unit."""
    if isinstance(control, Select):
        return translate_known(control.options.get(str(value), str(value)))
    return control.text(float(value)) if control.unit else figures(float(value), _SHOWN)


def slider_place(control: Slider, value: float) -> tuple[float, float, float, str]:
    """Minimum, maximum, current position and step of a range input for *control*."""
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
