"""What a lab says of itself, and what somebody asks of it."""

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
_STEP = 4  # from a size of a range to the next
_MOST = 24  # values of a parameter that takes several
RANKS = "ranks"
_COMMAND = ("wallclock", "lab", "run")
_EXACTLY = 6  # figures of bytes
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
        """What a number of it counts."""
        return scale_of(self.unit).unit if self.unit else (COUNT if self.whole else RATIO)

    def read(self, name: str, text: str) -> Value:
        """The value of *text*.

        Raises:
            InputError: it is none, or is out of bounds; the message says what would do.
        """
        if self.one_of:
            if text not in self.one_of:
                raise InputError(
                    f"{name} must be one of {', '.join(self.one_of)}, not {text[:60]!r}"
                    f"{nearest(text[:60], self.one_of)}"
                )
            return text
        if not self.several:
            return self._number(name, text)
        if match := _RANGE.fullmatch(text):
            return tuple(self._between(name, match["low"], match["high"]))
        parts = text.split(",", _MOST)
        if len(parts) > _MOST:
            raise InputError(f"{name} takes at most {_MOST} values")
        return tuple(self._number(name, part) for part in parts)

    def shown(self, value: Value) -> str:
        """*value* as a person would write it."""
        if isinstance(value, str):
            return value
        if isinstance(value, tuple):
            return ", ".join(self.shown(one) for one in value)
        return amount(value, self.measured_in)

    def _number(self, name: str, text: str) -> float:
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
        value, last = self._number(name, low), self._number(name, high)
        if not 0 < value <= last:
            raise InputError(f"{name}: {low.strip()} to {high.strip()} is no range")
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
    """Something that is measured: its unit, and the expression that predicts it.

    *exact*: it is counted, and must be what is predicted. *least*: the shortest sample is held
    against the prediction, since an emulated link can only be late. *derived*: expressions of the
    median, called value.
    """

    says: str
    unit: str
    predicted: str = ""
    exact: bool = False
    least: bool = False
    derived: dict[str, str] = {}


class Lab(_Strict):
    """What `lab.yaml` says."""

    name: str
    title: str
    links: Links
    summary: str
    question: str
    ranks: tuple[int, int, int] = Field(description="least, most, at the start")
    seconds: float = Field(gt=0, le=600, description="after which a run is ended")
    parameters: dict[str, Parameter]
    measures: dict[str, Measured]
    let: dict[str, str] = {}
    asks: str = Field(description="the measure that is predicted; {parameter} is filled in")
    fits: str = ""
    needs_gpu: bool = False
    explains: str
    sources: tuple[str, ...] = ()

    def words(self, values: Mapping[str, object]) -> Mapping[str, str]:
        """What may be put into the texts of formulas: parameters of which each text is listed here.

        Raises:
            KeyError: one is missing.
            ValueError: one is not among those that are listed.
        """
        found = {name: str(values[name]) for name, one in self.parameters.items() if one.one_of}
        for name, word in found.items():
            if word not in self.parameters[name].one_of:
                raise ValueError(f"{name} cannot be {word[:60]!r}")
        return found

    def asked_of(self, texts: Mapping[str, str]) -> str:
        """The measure that is predicted, with these parameters."""
        return self.asks.format(**self.words(texts))

    @property
    def worker(self) -> Path:
        """What the ranks run."""
        return LIBRARY / self.name.replace("-", "_") / "worker.py"

    def parameter_of(self, place: str) -> Parameter | None:
        """The parameter that a measure's *place* is a value of: a size is one of the sizes."""
        return self.parameters.get(place) or self.parameters.get(f"{place}s")

    def shown_at(self, place: str, value: float | str) -> str:
        """The *value* of a measure's *place*, as a person would write it."""
        if isinstance(value, str):
            return value
        parameter = self.parameter_of(place)
        return parameter.shown(value) if parameter else f"{value:g}"


@dataclass(frozen=True, slots=True)
class Job:
    """A lab with all its parameters."""

    lab: Lab
    ranks: int
    values: Mapping[str, Value]
    texts: Mapping[str, str]

    @property
    def command(self) -> str:
        """The command that runs it."""
        given = [f"{RANKS}={self.ranks}"]
        given += [f"{name}={text.replace(' ', '')}" for name, text in self.texts.items()]
        return " ".join([*_COMMAND, self.lab.name, *given])

    @property
    def given(self) -> Mapping[str, str]:
        """All parameters as texts, ranks too."""
        return {RANKS: str(self.ranks), **self.texts}


def given_in(command: str) -> Mapping[str, str]:
    """The parameters in the command of a report that does not have them as data."""
    words = command[:_LONGEST_COMMAND].split()[len(_COMMAND) + 1 :]
    return dict(word.partition("=")[::2] for word in words)


@cache
def known_labs() -> Mapping[str, Lab]:
    """Every lab, in the order of its folder's name.

    Raises:
        ContentError: a lab.yaml is wrong.
    """
    return {lab.name: lab for lab in map(_read, sorted(LIBRARY.glob("*/lab.yaml")))}


def lab_called(name: str) -> Lab:
    """The lab with that name.

    Raises:
        NotFoundError: there is none; the message offers the closest.
    """
    if name not in known_labs():
        raise NotFoundError(f"no lab is called {name[:80]!r}{nearest(name[:80], known_labs())}")
    return known_labs()[name]


def read_job(lab: Lab, given: Mapping[str, str]) -> Job:
    """*lab* with the parameters that *given* sets, the others as they start.

    Raises:
        InputError: a parameter is unknown, unreadable or out of its bounds.
    """
    known = (RANKS, *lab.parameters)
    for name, text in given.items():
        if name not in known:
            raise InputError(f"{lab.name} has no {name[:60]!r}{nearest(name[:60], known)}")
        if len(text) > _LONGEST:
            raise InputError(f"{name} has more than {_LONGEST} characters")
    least, most, start = lab.ranks
    ranks = Parameter(says="ranks", start=start, least=least, most=most, whole=True)
    count = ranks.read(RANKS, given.get(RANKS, str(start)))
    texts = {
        name: given.get(name, str(parameter.start)) for name, parameter in lab.parameters.items()
    }
    values = {name: parameter.read(name, texts[name]) for name, parameter in lab.parameters.items()}
    return Job(lab, int(count) if isinstance(count, float) else start, values, texts)


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
