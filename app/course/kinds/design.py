"""Exercises that ask for several values that together meet every condition."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr

from app.core.errors import AnswerError
from app.core.expressions import ExpressionError, Quantity, evaluate, fill, fill_known, holds, read_answer
from app.core.formulas.layout import total_step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.presets import Cluster, ModelShape
from app.core.formulas.step.speeds import attention_kernels
from app.core.searching import Space, find_layouts, fixed_fields
from app.core.translation import noted, translate
from app.core.units import BYTE, SECOND, check_clear, figures, scale_of, show_typed
from app.core.units.parser import without_commas
from app.course.kinds import base
from app.course.kinds.drawn_values import Draw, DrawnValue
from app.course.sandbox.runner import Runner


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


class Knob(base.Strict):
    """Something to choose."""

    says: base.Markdown = Field(description="what it is")
    among: list[DrawnValue] = Field(min_length=2, max_length=12, description="the values to choose from")

    def place(self, text: str) -> int | None:
        """The place of the value that *text* says; None where it says none of them."""
        for place, value in enumerate(self.among):
            if _plain_choice(text) in (_plain_choice(shown_value(value)), _plain_choice(str(value))):
                return place
        return self._equal(text)

    def _equal(self, text: str) -> int | None:
        """The place of the value that *text* equals; a bare number is in the unit they share."""
        units = {str(value).lstrip("0123456789.,e+- ") for value in self.among}
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


def _plain_choice(text: str) -> str:
    plain = without_commas(text).replace(" ", "").casefold()
    return plain.removesuffix(".0")


LARGEST = 200_000  # layouts that a grader searches: a tenth of a second
_DEGREES = ("tensor", "pipeline", "context", "expert", "virtual", "micro_batch")
_KEPT = ("recompute", "zero_stage", "sequence_parallel")  # searched, if they are not fixed
_SECONDS = SECOND.dimension
_SLOT = re.compile(r"\{(\w+)\}")

Named = dict[str, Quantity]
RunRequest = tuple[str, str, int, int, tuple[str, ...]]  # model, cluster, batch, sequence, fixed fields


class TrainingRun(base.Strict):
    """A training run; texts may have drawn numbers, as in `64 H100 gpus={gpus}`."""

    model: str = Field(description="a model, or one with some fields changed")
    cluster: str = Field(description="a cluster, or one with some fields changed")
    batch: str | int = Field(description="sequences per step")
    sequence: str | int = Field(description="tokens per sequence")
    fix: list[str] = Field(default_factory=list, description="fields of the layout that are given: zero_stage=1")

    def names(self, drawn: Mapping[str, Quantity], chosen: Mapping[str, Quantity]) -> Named:
        """What follows from the *chosen* degrees, as far as there is such a layout.

        *data* and *microbatches* may be fractions; *step*, *memory* and *room* are those of the
        layout, and *fastest* is the step of the fastest layout that fits.

        Raises:
            ValueError: a model, cluster or field does not exist, or there is too much to search.
        """
        asked = self.request(drawn)
        degrees = ((n, round(q.value)) for n, q in chosen.items() if n in _DEGREES)
        return {**_laid_out(asked, tuple(degrees)), "fastest": Quantity(fastest_step(asked), _SECONDS)}

    def request(self, drawn: Mapping[str, Quantity]) -> RunRequest:
        """What is searched: the texts with what is *drawn*.

        Raises:
            ValueError: a text names what is not drawn.
        """

        def filled(text: str | int) -> str:
            return _SLOT.sub(lambda slot: f"{drawn[slot[1]].value:.0f}", str(text))

        try:
            return (
                filled(self.model),
                filled(self.cluster),
                int(filled(self.batch)),
                int(filled(self.sequence)),
                tuple(map(filled, self.fix)),
            )
        except KeyError as error:
            raise ValueError(f"{error} is not drawn") from None


@lru_cache(maxsize=4096)
def _laid_out(asked: RunRequest, degrees: tuple[tuple[str, int], ...]) -> Mapping[str, Quantity]:
    space = _space(asked)
    fixed = {name: int(value) for name, value in space.fixed.items() if name in _DEGREES}
    given = {**dict.fromkeys(_DEGREES, 1), **fixed, **dict(degrees)}
    data = space.cluster.gpus / (given["tensor"] * given["pipeline"] * given["context"])
    count = space.batch / data / given["micro_batch"]
    found = {
        "data": Quantity(data),
        "microbatches": Quantity(count),
        "room": Quantity(space.cluster.gpu.memory, BYTE.dimension),
    }
    if data % 1 or count % 1:
        return found  # conditions on what is not there do not hold
    others = {name: value for name, value in space.fixed.items() if name in _KEPT}
    try:
        layout = space.layout({**others, **given, "data": int(data), "microbatches": int(count)})
        time = total_step_time(space.model, space.cluster, layout)
        kernels = attention_kernels(space.model, space.cluster.gpu)
        memory = memory_budget(space.model, layout, kernels=kernels).total
    except ValueError:
        return found
    return {**found, "step": Quantity(time, _SECONDS), "memory": Quantity(memory, BYTE.dimension)}


@lru_cache(maxsize=256)
def _space(asked: RunRequest) -> Space:
    model, cluster, batch, sequence, fix = asked
    return Space(
        model=ModelShape.read(model),
        cluster=Cluster.read(cluster),
        batch=batch,
        sequence=sequence,
        fixed=fixed_fields(fix),
    )


@lru_cache(maxsize=256)
def fastest_step(asked: RunRequest) -> float:
    """Seconds of a step with the fastest layout that fits.

    Raises:
        ValueError: none fits, or there is too much to search.
    """
    found = find_layouts(_space(asked), top=1, largest=LARGEST)
    if not found.top:
        raise ValueError("no layout of this run fits")
    return found.top[0].step_time


_MOST = 1000  # ways to choose, of which lint tries every one
BETTER = noted("This works, but another choice is even better.")
_NO_CHOICE = noted("no choice is called {name!r}{near}")
_HALF = 0.5  # the score of a design that works and is not the best
Identifier = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$", max_length=30)]
Chosen = Mapping[str, int]  # the place of each choice in its list


class Design(base.Base):
    """Choose the best values that meet every condition."""

    kind_title = noted("Design")
    sample = "memory/the-mildest-stage"
    asks_for_numbers = True
    pace = 4.0
    only_draws = True
    kind: Literal["design"]
    choose: dict[Identifier, Knob] = Field(
        min_length=1, max_length=6, description="name: says, and among: the values to choose from"
    )
    derive: dict[Identifier, str | int | float] = Field(
        default_factory=dict, description="named values that follow from the choices"
    )
    run: TrainingRun | None = Field(
        default=None,
        description="a training run whose layout is chosen, with degrees such as tensor; the best"
        " is then the fastest of all layouts that fit, not of the choices",
    )
    require: dict[str, base.Markdown] = Field(min_length=1, description="condition: feedback when it does not hold")
    least: str = Field(default="", description="an expression that the best design minimizes")
    within: float = Field(default=0.001, gt=0, lt=1, description="how close to the best still counts, 0.05")
    better: base.Markdown = Field(default=BETTER, description="feedback on a design that works but is not the best")
    shows: dict[str, str] = Field(default_factory=dict, description="label: text with values, shown with every verdict")
    _works: base.ValueCache[int, list[tuple[float, Chosen]]] = PrivateAttr(default_factory=base.ValueCache)

    def question(self, seed: int) -> DesignQuestion:
        """The values to choose, and the options for each."""
        drawn = self.draw(seed)
        return DesignQuestion(
            tuple(
                KnobRow(name, self.fill(knob.says, drawn), tuple(map(shown_value, knob.among)))
                for name, knob in self.choose.items()
            )
        )

    def right_answer(self, seed: int) -> base.Answer:
        """The best design; the first of several.

        Raises:
            ExpressionError: no design works.
        """
        works = self._working(seed)
        if not works:
            raise ExpressionError("no choice meets every condition")
        return self._written(works[0][1])

    def reveal(self, seed: int) -> str:
        """The best design, and what comes of it."""
        right = self.right_answer(seed)
        texts = right.items() if isinstance(right, dict) else ()
        chosen = ", ".join(f"{self.choose[name].says} **{text}**" for name, text in texts)
        return "\n\n".join([chosen, *self._shows(self._names(seed, self._working(seed)[0][1]))])

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """For each condition, a design that fails it alone."""
        for condition, chosen in self._deciding(seed).items():
            names = self._names(seed, chosen)
            yield self._written(chosen), self._filled(self.require[condition], names)

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Say which conditions fail; of a design that works, how near the best it is."""
        chosen = self._read(answer)
        names = self._names(seed, chosen)
        failed = self._failed(names)
        if failed:
            says = [self._filled(self.require[condition], names) for condition in failed]
            share = 1 - len(failed) / len(self.require)
            mistake = base.mistake_key(self.require[failed[0]])
            return base.Verdict(False, _HALF * share, (*says, *self._shows(names)), mistake=mistake)
        if self.least and not self._is_best(evaluate(self.least, names).value, seed):
            says = [self._better(names), *self._shows(names)]
            return base.Verdict(False, _HALF, tuple(says), mistake=base.mistake_key(self.better))
        return base.Verdict(True, 1.0, (translate("Right: it meets every condition."), *self._shows(names)))

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> base.Answer:
        """A field "answer.NAME" for each choice."""
        return base.posted_answers(form, self.choose)

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The values to choose, too."""
        yield from super().texts()
        for name, knob in self.choose.items():
            yield ("choose", name, "says"), knob.says

    def untold(self) -> Iterator[tuple[base.Where, str]]:
        """The sentences of the conditions, which the design that was chosen fills."""
        for condition, says in self.require.items():
            yield ("require", condition), says
        yield ("better",), self.better
        yield from ((("shows", label), text) for label, text in self.shows.items())

    def diagnosis(self, key: str, seed: int) -> str:
        """The feedback on a design that fails the condition with that *key* alone."""
        for condition, chosen in self._deciding(seed).items():
            if self.kept_key(base.mistake_key(self.require[condition])) == key:
                return self._filled(self.require[condition], self._names(seed, chosen))
        return self._better({}) if key == self.kept_key(base.mistake_key(self.better)) else ""

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """Some designs work, each condition alone decides somewhere, and texts can be filled."""
        ways = math.prod(len(knob.among) for knob in self.choose.values())
        if ways > _MOST:
            yield base.Finding(("choose",), f"{ways:,} ways to choose are more than {_MOST:,}")
            return
        try:
            works = self._working(drawn.seed)
        except ValueError as error:  # of the run
            yield base.Finding(("run",), str(error))
            return
        if not works:
            yield base.Finding(("require",), "no choice meets every condition")
            return
        deciding = self._deciding(drawn.seed)
        for condition in self.require:
            if condition not in deciding:
                cure = "remove it, or offer choices that only it forbids"
                yield base.Finding(
                    ("require", condition), "decides nothing alone: no choice fails this condition alone", cure
                )
        if self.run and not (self.least and self._is_best(works[0][0], drawn.seed)):
            cure = "offer its degrees, and minimize step"
            yield base.Finding(("run",), "no choice is as good as the fastest layout there is", cure)
        if self.least and all(self._is_best(value, drawn.seed) for value, _ in works):
            cure = "offer choices that work and are not the best"
            yield base.Finding(("least",), "decides nothing: every choice that works is the best", cure)
        yield from self._prove_texts(drawn.seed)

    def _prove_texts(self, seed: int) -> Iterator[base.Finding]:
        """The sentences about every design can be filled, each reported once."""
        known = set[base.Where]()
        for chosen in self._ways():
            names = self._names(seed, chosen)
            failed = self._failed(names)
            texts: dict[base.Where, str] = {("require", one): self.require[one] for one in failed}
            if not failed:
                texts[("better",)] = self.better
                texts |= {("shows", label): text for label, text in self.shows.items()}
            for where in texts.keys() - known:
                try:
                    fill(texts[where], names, {})
                except ExpressionError as error:
                    known.add(where)
                    design = ", ".join(f"{n} {text}" for n, text in self._written(chosen).items())
                    cure = "add a condition that says what is wrong with such a design"
                    yield base.Finding(where, f"with {design}: {error}", cure if failed else "")

    def _working(self, seed: int) -> list[tuple[float, Chosen]]:
        """Every design that works, the best first."""
        return self._works.of(seed, lambda: sorted(self._found(seed), key=itemgetter(0)))

    def _found(self, seed: int) -> Iterator[tuple[float, Chosen]]:
        for chosen in self._ways():
            names = self._names(seed, chosen)
            if not self._failed(names):
                yield (evaluate(self.least, names).value if self.least else 0.0), chosen

    def _deciding(self, seed: int) -> dict[str, Chosen]:
        """For each condition, a design that fails it and no other."""
        found: dict[str, Chosen] = {}
        for chosen in self._ways():
            failed = self._failed(self._names(seed, chosen))
            if len(failed) == 1:
                found.setdefault(failed[0], chosen)
        return found

    def _ways(self) -> Iterator[Chosen]:
        places = (range(len(knob.among)) for knob in self.choose.values())
        for way in itertools.product(*places):
            yield dict(zip(self.choose, way, strict=True))

    def _names(self, seed: int, chosen: Chosen) -> dict[str, Quantity]:
        """The drawn values, the chosen ones, and what follows from them as far as it can."""
        names = dict(self.draw(seed).names)
        for name, place in chosen.items():
            names[name] = evaluate(str(self.choose[name].among[place]), {})
        if self.run:
            names |= self.run.names(names, {name: names[name] for name in chosen})
        for name, expression in self.derive.items():
            try:
                names[name] = evaluate(str(expression), names)
            except ExpressionError:
                continue  # a condition that needs it does not hold
        return names

    def _failed(self, names: Mapping[str, Quantity]) -> list[str]:
        """The conditions that do not hold; those that cannot be decided only if no other fails."""
        failed, undecided = [], []
        for condition in self.require:
            try:
                if not holds(condition, names):
                    failed.append(condition)
            except ExpressionError:
                undecided.append(condition)
        return failed or undecided

    def _is_best(self, value: float, seed: int) -> bool:
        works = self._working(seed)
        best = self._names(seed, works[0][1])["fastest"].value if self.run else works[0][0]
        return value <= best + abs(best) * self.within

    def _shows(self, names: Mapping[str, Quantity]) -> list[str]:
        lines = [f"- {label}: {self._filled(text, names)}" for label, text in self.shows.items()]
        return ["\n".join(lines)] if lines else []

    def _better(self, names: Mapping[str, Quantity]) -> str:
        """What is said of a design that works and is not the best."""
        return translate(BETTER) if self.better == BETTER else self._filled(self.better, names)

    def _filled(self, text: str, names: Mapping[str, Quantity]) -> str:
        return fill_known(text, names).strip()

    def _written(self, chosen: Chosen) -> dict[str, str]:
        return {name: shown_value(self.choose[name].among[place]) for name, place in chosen.items()}

    def _read(self, answer: base.Answer) -> Chosen:
        chosen = base.named_answers(answer, self.choose, _NO_CHOICE)
        if missing := [name for name in self.choose if name not in chosen]:
            raise AnswerError(translate("still to be chosen: {missing}", missing=", ".join(missing)))
        places = {name: self.choose[name].place(text) for name, text in chosen.items()}
        if wrong := next((name for name, place in places.items() if place is None), ""):
            among, text = ", ".join(map(shown_value, self.choose[wrong].among)), chosen[wrong][:40]
            raise AnswerError(
                translate("{name} must be one of {among}, not {text!r}", name=wrong, among=among, text=text)
            )
        return {name: place for name, place in places.items() if place is not None}
