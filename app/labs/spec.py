"""The specification of a lab, and the parameters of a run."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from app.core.errors import ContentError, InputError, NotFoundError, input_error, nearest
from app.core.translation import Numeral, noted, translate
from app.core.units import BYTE, COUNT, RATIO, Unit, scale_of, show, show_size
from app.core.validation import problems_of
from app.core.yaml_file import read_document

Value = float | str | tuple[float, ...]
_RANGE = re.compile(r"\A(?P<low>.+?)\.\.(?P<high>.+)")
_STEP = 4  # ratio of neighboring values in a range
_MOST = 24  # values of a parameter that takes several
_LONGEST_COMMAND = 2000  # characters
_BEFORE_PARAMETERS = 4  # words: wallclock lab run LAB


class FrozenModel(BaseModel):
    """Frozen, with no fields but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Parameter(FrozenModel):
    """A number, a choice or several numbers, which may be arithmetic; bare ones are in *unit*.

    *words* may stand in place of a number. One that is *implied* is not in the command where it has
    its *start*: runs of earlier versions have none.
    """

    says: str
    start: str | int | float
    unit: str = ""
    least: str | int | float = 0
    most: str | int | float = 0
    one_of: tuple[str, ...] = ()
    several: bool = False
    whole: bool = False
    words: tuple[str, ...] = ()
    implied: bool = False

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
                raise input_error(
                    "{name} must be one of {one_of}, not {text!r}{near}",
                    name=name,
                    one_of=", ".join(self.one_of),
                    text=text[:60],
                    near=nearest(text[:60], self.one_of),
                )
            return text
        if text in self.words:
            return text
        if not self.several:
            return self.number(name, text)
        if match := _RANGE.fullmatch(text):
            return tuple(self._between(name, match["low"], match["high"]))
        parts = text.split(",", _MOST)
        if len(parts) > _MOST:
            raise input_error("{name} takes at most {most} values", name=name, most=_MOST)
        return tuple(self.number(name, part) for part in parts)

    def shown(self, value: Value) -> str:
        """*value* as a person would write it."""
        if isinstance(value, str):
            return value
        if isinstance(value, tuple):
            return ", ".join(self.shown(one) for one in value)
        return amount(value, self.measured_in)

    def number(self, name: str, text: str) -> float:
        """The one number that *text* is."""
        try:
            value = self._parsed(text)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
        low, high = self._parsed(str(self.least)), self._parsed(str(self.most))
        if low == high != value:
            raise input_error("{name} must be {only}, not {text}", name=name, only=self.least, text=text)
        if not low <= value <= high:
            raise input_error(
                "{name} must be from {least} to {most}, not {text}",
                name=name,
                least=self.least,
                most=self.most,
                text=text.strip(),
            )
        if self.whole and value != round(value):
            raise input_error("{name} must be a whole number, not {text}", name=name, text=text.strip())
        return value

    def _parsed(self, text: str) -> float:
        try:
            return float(text) * scale_of(self.unit).factor
        except ValueError:
            expressions = import_module("app.core.expressions")  # with all formulas, which a listing does without
            return float(expressions.read_answer(text, scale_of(self.unit)).value)

    def _between(self, name: str, low: str, high: str) -> Iterable[float]:
        value, last = self.number(name, low), self.number(name, high)
        if not 0 < value <= last:
            raise input_error("{name}: {low} to {high} is not a range", name=name, low=low.strip(), high=high.strip())
        for _ in range(_MOST):
            if value > last:
                return
            yield value
            value *= _STEP


def amount(value: float, unit: Unit) -> str:
    """*value* with its unit; bytes in those of programs, such as MiB."""
    if unit is BYTE:
        return show_size(value)
    return show(value, unit) if unit.symbol else Numeral(f"{value:g}")


def parameters_in(command: str) -> Mapping[str, str]:
    """The parameters of a run that an earlier version wrote down as its *command* alone."""
    words = command[:_LONGEST_COMMAND].split()[_BEFORE_PARAMETERS:]
    return dict(word.partition("=")[::2] for word in words)


LIBRARY = Path(__file__).parent / "library"
Links = Literal["real", "emulated", "counted"]
RANKS, NODES = "ranks", "nodes"
MOST_RANKS = 1024
_COMMAND = ("wallclock", "lab", "run")
# Why a lab without a form for GPUs needs none.
PROCESSORS_ONLY: Mapping[Links, str] = {
    "real": noted("it measures the processor itself"),
    "emulated": noted("its link is emulated, which is the same on every machine"),
    "counted": noted("what it counts is the same on every machine"),
}
_LONGEST = 500  # characters of a parameter


class MeasuredQuantity(FrozenModel):
    """One measure: its unit, and the expression that predicts it.

    *exact*: it is counted, and must equal the prediction. *least*: the fastest sample is compared
    with the prediction, since an emulated link can be late but never early. *bound*: nothing can
    take less time than the prediction. *contains*: other measures, of what happens within this one.
    *derived*: expressions of the median, which they call value.
    """

    says: str
    unit: str
    predicted: str = ""
    exact: bool = False
    least: bool = False
    bound: bool = False
    contains: tuple[str, ...] = ()
    derived: dict[str, str] = {}


class Lab(FrozenModel):
    """The contents of a `lab.yaml`."""

    name: str
    title: str
    links: Links
    summary: str
    question: str
    ranks: tuple[int, int, int] = Field(description="minimum, maximum, default")
    seconds: float = Field(gt=0, le=600, description="time limit of a run")
    calls: int = Field(
        default=9,
        ge=1,
        description="the fewest calls of each measure at a place: three that do not count, one "
        "that tells how long a call takes, and the least number of samples",
    )
    parameters: dict[str, Parameter]
    measures: dict[str, MeasuredQuantity]
    let: dict[str, str] = {}
    constants: dict[str, str] = Field(
        default={}, description="what a prediction needs to know and no parameter says: its label and its value"
    )
    alone: bool = Field(default=False, description="whether each rank does the same by itself, and sends nothing")
    asks: str = Field(description="the measure to predict; {parameter} is filled in")
    fits: str = ""
    explains: str
    sources: tuple[str, ...] = ()
    processors_only: str = Field(default="", description="why it has no form for GPUs, if its links do not say so")
    gpu: "Lab | None" = Field(
        default=None,
        description="the lab with one GPU per rank; its lab.yaml says what is different there. "
        "Without it, the lab runs on processors only",
    )

    @model_validator(mode="after")
    def _has_bounds(self) -> Self:
        least, most, start = self.ranks
        if not 1 <= least <= start <= most <= MOST_RANKS:
            raise ValueError(f"ranks are [minimum, maximum, default], from 1 to {MOST_RANKS}, not {list(self.ranks)}")
        return self

    def on(self, backend: str) -> "Lab":
        """The lab as it runs over *backend*: over nccl, each rank has a GPU."""
        if backend == "nccl" and self.gpu is None:
            raise input_error(
                "{name} runs on processors only, over gloo: {why_processors}",
                name=self.name,
                why_processors=translate(self.why_processors),
            )
        return self.run_over(backend)

    def run_over(self, backend: str) -> "Lab":
        """The form that a run over *backend* had; earlier versions ran any lab over nccl."""
        return self.gpu or self if backend == "nccl" else self

    @property
    def why_processors(self) -> str:
        """Why a lab without a form for GPUs needs none."""
        return self.processors_only or PROCESSORS_ONLY[self.links]

    def words(self, values: Mapping[str, Value]) -> Mapping[str, str]:
        """The parameters that may become part of a formula's text: those with listed choices."""
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
class LabJob:
    """A lab with all its parameters: *given* as texts, ranks included, and *values* as numbers.

    *nodes* is None if it is to take as few as have room for its ranks. One that *refuses_busy* GPUs
    fails before it measures.
    """

    lab: Lab
    ranks: int
    values: Mapping[str, Value]
    given: Mapping[str, str]
    nodes: int | None = None
    refuses_busy: bool = False

    @property
    def command(self) -> str:
        """The command that runs it."""
        words = (f"{name}={text.replace(' ', '')}" for name, text in self.given.items())
        return " ".join([*_COMMAND, self.lab.name, *words])

    def on_nodes(self, nodes: int) -> "LabJob":
        """The job on that many *nodes*; its command names them if they are several."""
        if self.nodes is None and nodes > 1:
            return replace(read_job(self.lab, {**self.given, NODES: str(nodes)}), refuses_busy=self.refuses_busy)
        return replace(self, nodes=nodes)


@cache
def known_labs() -> Mapping[str, Lab]:
    """Every lab, sorted by the name of its folder."""
    return {lab.name: lab for lab in map(_read_spec, sorted(LIBRARY.glob("*/lab.yaml")))}


def lab_called(name: str) -> Lab:
    """The lab with that name.

    Raises:
        NotFoundError: the lab does not exist; the message offers the closest name.
    """
    if name not in known_labs():
        raise NotFoundError(
            translate("no lab is called {name!r}{near}", name=name[:80], near=nearest(name[:80], known_labs()))
        )
    return known_labs()[name]


def read_job(lab: Lab, given: Mapping[str, str]) -> LabJob:
    """*lab* with the parameters in *given*, and the defaults of the others.

    Raises:
        InputError: a parameter is unknown, cannot be read, or is out of bounds.
    """
    known = (RANKS, NODES, *lab.parameters)
    for name, text in given.items():
        if name not in known:
            raise input_error(
                "{name} has no {parameter!r}{near}", name=lab.name, parameter=name[:60], near=nearest(name[:60], known)
            )
        if len(text) > _LONGEST:
            raise input_error("{name} has more than {longest} characters", name=name, longest=_LONGEST)
    least, most, start = lab.ranks
    ranks = Parameter(says="ranks", start=start, least=least, most=most, whole=True)
    count = int(ranks.number(RANKS, given.get(RANKS, str(start))))
    nodes = _nodes_in(lab, count, given[NODES]) if NODES in given else None
    texts = {**lab.starts, **given, RANKS: str(count)}
    values = {name: parameter.read(name, texts[name]) for name, parameter in lab.parameters.items()}
    implied = {
        name for name, one in lab.parameters.items() if one.implied and values[name] == one.read(name, str(one.start))
    }
    said = {name: texts[name] for name in known if name in texts and name not in implied}
    return LabJob(lab, count, values, said, nodes)


def _nodes_in(lab: Lab, ranks: int, text: str) -> int:
    """The number of nodes that *text* is."""
    nodes = Parameter(says="nodes", start=1, least=1, most=ranks, whole=True)
    count = int(nodes.number(NODES, text))
    if ranks % count:
        raise input_error("{ranks} ranks cannot be spread evenly over {count} nodes", ranks=ranks, count=count)
    if count > 1 and lab.links == "emulated":
        raise input_error(
            "{name} runs on one node: its link is emulated, which requires one clock for all ranks", name=lab.name
        )
    return count


def _read_spec(path: Path) -> Lab:
    document = read_document(path)
    values = {**document.values, "name": path.parent.name.replace("_", "-")}
    different = values.pop("gpu", None)
    try:
        lab = Lab.model_validate(values)
        if not isinstance(different, Mapping):
            return lab
        return lab.model_copy(update={"gpu": Lab.model_validate(_merged(values, different))})
    except ValidationError as error:
        found = problems_of(error.errors(include_url=False), Lab)
        raise ContentError([document.problem(*problem) for problem in found]) from error


def _merged(values: Mapping[str, object], different: Mapping[str, object]) -> dict[str, object]:
    """*values* with those of *different* in their place, mappings likewise; null removes one.

    >>> _merged({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 4}, "d": None})
    {'a': {'b': 4, 'c': 2}}
    """
    found = dict(values)
    for name, new in different.items():
        old = found.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found[name] = _merged(old, new)
        elif new is None:
            found.pop(name, None)
        else:
            found[name] = new
    return found
