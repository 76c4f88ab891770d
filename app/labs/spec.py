"""The specification of a lab, and the parameters of one run of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.errors import ContentError, InputError, NotFoundError, Problem, nearest
from app.units import BYTE, COUNT, RATIO, Unit, figures, parse, scale_of, show
from app.yaml_file import read_document

LIBRARY = Path(__file__).parent / "library"
Links = Literal["real", "emulated", "counted"]
Value = float | str | tuple[float, ...]
_RANGE = re.compile(r"(?P<low>.+?)\.\.(?P<high>.+)")
_STEP = 4  # ratio of neighboring values in a range
_MOST = 24  # values of a parameter that takes several
RANKS = "ranks"
_COMMAND = ("wallclock", "lab", "run")
_EXACTLY = 6  # significant figures of bytes
_LONGEST = 500  # characters of a parameter
_LONGEST_COMMAND = 2000  # characters


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Parameter(_Strict):
    """A number, a choice or several numbers; bare numbers are in *unit*."""

    says: str
    start: str | int | float
    unit: str = ""
    least: str | int | float = 0
    most: str | int | float = 0
    one_of: tuple[str, ...] = ()
    several: bool = False
    whole: bool = False

    @property
    def measured_in(self) -> Unit:
        """The unit of its numbers."""
        return scale_of(self.unit).unit if self.unit else (COUNT if self.whole else RATIO)

    def read(self, name: str, text: str) -> Value:
        """The value of *text*.

        Raises:
            InputError: it cannot be read or is out of bounds; the message says what is allowed.
        """
        if self.one_of:
            if text not in self.one_of:
                raise InputError(
                    f"{name} must be one of {', '.join(self.one_of)}, not {text[:60]!r}"
                    f"{nearest(text[:60], self.one_of)}"
                )
            return text
        if not self.several:
            return self.number(name, text)
        if match := _RANGE.fullmatch(text):
            return tuple(self._between(name, match["low"], match["high"]))
        parts = text.split(",", _MOST)
        if len(parts) > _MOST:
            raise InputError(f"{name} takes at most {_MOST} values")
        return tuple(self.number(name, part) for part in parts)

    def shown(self, value: Value) -> str:
        """*value* as a person would write it."""
        if isinstance(value, str):
            return value
        if isinstance(value, tuple):
            return ", ".join(self.shown(one) for one in value)
        return amount(value, self.measured_in)

    def number(self, name: str, text: str) -> float:
        """The one number that *text* is.

        Raises:
            InputError: as for `read`.
        """
        try:
            value = self._parsed(text)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
        low, high = self._parsed(str(self.least)), self._parsed(str(self.most))
        if not low <= value <= high:
            raise InputError(f"{name} must be from {self.least} to {self.most}, not {text.strip()}")
        if self.whole and value != round(value):
            raise InputError(f"{name} must be a whole number, not {text.strip()}")
        return value

    def _parsed(self, text: str) -> float:
        try:
            return float(text) * (scale_of(self.unit).factor if self.unit else 1.0)
        except ValueError:
            return parse(text, self.measured_in)

    def _between(self, name: str, low: str, high: str) -> Iterable[float]:
        value, last = self.number(name, low), self.number(name, high)
        if not 0 < value <= last:
            raise InputError(f"{name}: {low.strip()} to {high.strip()} is not a range")
        for _ in range(_MOST):
            if value > last:
                return
            yield value
            value *= _STEP


def amount(value: float, unit: Unit) -> str:
    """*value* with its unit; bytes that are powers of two as such."""
    if unit is BYTE and value and value % scale_of("KiB").factor == 0:
        scales = (scale_of(symbol) for symbol in ("GiB", "MiB", "KiB"))
        fitting = next(scale for scale in scales if value >= scale.factor)
        return f"{figures(value / fitting.factor, _EXACTLY)} {fitting.symbol}"
    return show(value, unit) if unit.symbol else f"{value:g}"


class Measured(_Strict):
    """One measure: its unit, and the expression that predicts it.

    *exact*: it is counted, and must equal the prediction. *least*: the fastest sample is compared
    with the prediction, since an emulated link can be late but never early. *derived*: expressions
    of the median, which they call value.
    """

    says: str
    unit: str
    predicted: str = ""
    exact: bool = False
    least: bool = False
    derived: dict[str, str] = {}


class Lab(_Strict):
    """The contents of a `lab.yaml`."""

    name: str
    title: str
    links: Links
    summary: str
    question: str
    ranks: tuple[int, int, int] = Field(description="minimum, maximum, default")
    seconds: float = Field(gt=0, le=600, description="time limit of a run")
    parameters: dict[str, Parameter]
    measures: dict[str, Measured]
    let: dict[str, str] = {}
    asks: str = Field(description="the measure to predict; {parameter} is filled in")
    fits: str = ""
    needs_gpu: bool = False
    explains: str
    sources: tuple[str, ...] = ()

    def words(self, values: Mapping[str, Value]) -> Mapping[str, str]:
        """The parameters that may become part of a formula's text: those with listed choices.

        Raises:
            KeyError: a parameter is missing.
            ValueError: a value is not one of the listed choices.
        """
        found = {name: str(values[name]) for name, one in self.parameters.items() if one.one_of}
        for name, word in found.items():
            if word not in self.parameters[name].one_of:
                raise ValueError(f"{name} cannot be {word[:60]!r}")
        return found

    def asked_of(self, given: Mapping[str, str]) -> str:
        """The measure to predict when these parameters are *given*."""
        return self.asks.format(**self.words(given))

    @property
    def starts(self) -> Mapping[str, str]:
        """The default of each parameter but the ranks."""
        return {name: str(parameter.start) for name, parameter in self.parameters.items()}

    @property
    def worker(self) -> Path:
        """The program that every rank runs."""
        return LIBRARY / self.name.replace("-", "_") / "worker.py"

    def parameter_of(self, place: str) -> Parameter | None:
        """The parameter that a *place* of a measure is a value of: a size is one of the sizes."""
        return self.parameters.get(place) or self.parameters.get(f"{place}s")

    def shown_at(self, place: str, value: float | str) -> str:
        """The *value* of a *place* of a measure, as a person would write it."""
        if isinstance(value, str):
            return value
        parameter = self.parameter_of(place)
        return parameter.shown(value) if parameter else f"{value:g}"


@dataclass(frozen=True, slots=True)
class Job:
    """A lab with all its parameters: *given* as texts, ranks included, and *values* as numbers."""

    lab: Lab
    ranks: int
    values: Mapping[str, Value]
    given: Mapping[str, str]

    @property
    def command(self) -> str:
        """The command that runs it."""
        words = (f"{name}={text.replace(' ', '')}" for name, text in self.given.items())
        return " ".join([*_COMMAND, self.lab.name, *words])


def parameters_in(command: str) -> Mapping[str, str]:
    """The parameters of a run that an earlier version wrote down as its *command* alone."""
    words = command[:_LONGEST_COMMAND].split()[len(_COMMAND) + 1 :]
    return dict(word.partition("=")[::2] for word in words)


@cache
def known_labs() -> Mapping[str, Lab]:
    """Every lab, sorted by the name of its folder.

    Raises:
        ContentError: a lab.yaml is not valid.
    """
    return {lab.name: lab for lab in map(_read, sorted(LIBRARY.glob("*/lab.yaml")))}


def lab_called(name: str) -> Lab:
    """The lab with that name.

    Raises:
        NotFoundError: there is no such lab; the message offers the closest name.
    """
    if name not in known_labs():
        raise NotFoundError(f"no lab is called {name[:80]!r}{nearest(name[:80], known_labs())}")
    return known_labs()[name]


def read_job(lab: Lab, given: Mapping[str, str]) -> Job:
    """*lab* with the parameters in *given*, and the defaults of the others.

    Raises:
        InputError: a parameter is unknown, cannot be read, or is out of bounds.
    """
    known = (RANKS, *lab.parameters)
    for name, text in given.items():
        if name not in known:
            raise InputError(f"{lab.name} has no {name[:60]!r}{nearest(name[:60], known)}")
        if len(text) > _LONGEST:
            raise InputError(f"{name} has more than {_LONGEST} characters")
    least, most, start = lab.ranks
    ranks = Parameter(says="ranks", start=start, least=least, most=most, whole=True)
    count = int(ranks.number(RANKS, given.get(RANKS, str(start))))
    texts = {**lab.starts, **given, RANKS: str(count)}
    values = {name: parameter.read(name, texts[name]) for name, parameter in lab.parameters.items()}
    return Job(lab, count, values, {name: texts[name] for name in known})


def _read(path: Path) -> Lab:
    document = read_document(path)
    name = path.parent.name.replace("_", "-")
    try:
        return Lab.model_validate({**document.values, "name": name})
    except ValidationError as error:
        problems = [
            Problem(path, document.line(tuple(found["loc"])), f"{found['loc']}: {found['msg']}")
            for found in error.errors(include_url=False)
        ]
        raise ContentError(problems) from error
