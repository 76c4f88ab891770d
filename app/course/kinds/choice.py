"""Exercises with options, and those that predict what a lab measures."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from app.core.errors import AnswerError, nearest
from app.core.expressions import ExpressionError, fill, holds
from app.core.translation import SOURCE, noted, plural, speaking, translate
from app.core.units import Reading
from app.core.validation import PlacedError
from app.course.kinds import base
from app.course.kinds.answer_key import AskedQuantity, part_sentences, worth_sentence
from app.course.kinds.drawn_values import Draw, shuffle_things
from app.course.kinds.numeric import Box, QuantityExercise
from app.course.sandbox.runner import Runner

FIRST = "first"


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """The options; *many* when any number of them may be chosen."""

    options: tuple[base.Option, ...]
    many: bool


class OptionText(base.Strict):
    """An option as its author writes it."""

    text: base.Markdown
    says: base.Markdown = Field(description="feedback when it is chosen")
    when: str = Field(default="", description="with correct: first, when this one is right")


class ScoredOption(OptionText):
    """An option that may be worth a part of the points where it is not right."""

    score: float = Field(
        default=0.0, ge=0, lt=1, description="the share of the points, such as 0.5, for this option where it is wrong"
    )


def unknown_option(key: str, options: Collection[str]) -> PlacedError:
    """What is wrong with a *key* under `correct` that is not one of the *options*."""
    says = f"no option is called {key!r}{nearest(key, options)}" if key else "names no option"
    return PlacedError(says, ("correct",), f"the options are {', '.join(options)}")


class Choice(base.Base):
    """Choose one option, or all that apply."""

    kind_title = noted("Choice")
    sample = "memory/which-layout-fits"
    pace = 1.0
    kind: Literal["choice"]
    options: dict[base.Slug, ScoredOption] = Field(
        min_length=2, description="key: text, says, and perhaps when and score; shuffled by the seed"
    )
    correct: str | list[str] = Field(description="the key, the keys, or: first whose when holds")

    @model_validator(mode="after")
    def _names_options(self) -> Self:
        named = [self.correct] if isinstance(self.correct, str) else self.correct
        for key in named or [""]:
            if key not in self.options and key != FIRST:
                raise unknown_option(key, self.options)
        for key, option in self.options.items():
            if option.score and (self.many or key == self.correct):
                says = "is for a wrong option, where one is right"
                raise PlacedError(says, ("options", key, "score"), "remove it")
        return self

    @property
    def many(self) -> bool:
        """Whether any number of options may be chosen."""
        return not isinstance(self.correct, str)

    @property
    def minutes(self) -> int:
        """About how long it takes: longer where several are right, and twice as long where the values decide which."""
        if self.many:
            return super().minutes + len(self.options) // 2
        return super().minutes * (2 if self.correct == FIRST else 1)

    @property
    def variation(self) -> str:
        """What another seed changes."""
        return super().variation or translate("Shuffles the options again.")

    def question(self, seed: int) -> ChoiceQuestion:
        """The options, in the order that *seed* shuffles them to."""
        drawn = self.draw(seed)
        options = [base.Option(key, self.fill(o.text, drawn)) for key, o in self.options.items()]
        return ChoiceQuestion(tuple(shuffle_things(seed, options)), self.many)

    def right(self, seed: int) -> set[str]:
        """The keys of the right options.

        Raises:
            ExpressionError: no option's `when` holds for what *seed* draws.
        """
        if isinstance(self.correct, list):
            return set(self.correct)
        if self.correct != FIRST:
            return {self.correct}
        names = self.draw(seed).names
        for key, option in self.options.items():
            if option.when and holds(option.when, names):
                return {key}
        raise ExpressionError("the `when` of no option holds")

    def right_answer(self, seed: int) -> base.Answer:
        """The key, or the keys."""
        keys = [key for key in self.options if key in self.right(seed)]
        return keys if self.many else keys[0]

    def reveal(self, seed: int) -> str:
        """The text of each right option."""
        drawn, right = self.draw(seed), self.right(seed)
        texts = [self.fill(o.text, drawn) for key, o in self.options.items() if key in right]
        return "\n".join(f"- {text}" for text in texts) if self.many else texts[0]

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each wrong option, alone."""
        drawn, right = self.draw(seed), self.right(seed)
        for key, option in self.options.items():
            if key not in right:
                says = self.fill(option.says, drawn)
                yield ([key] if self.many else key), says

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Compare the chosen keys with the right ones; of several, each counts alike."""
        chosen, right = self._chosen(answer), self.right(seed)
        drawn = self.draw(seed)
        wrong = [key for key in self.options if key in chosen - right]
        says = [self.fill(self.options[key].says, drawn) for key in wrong]
        if chosen == right:
            praise = (self.fill(self.options[key].says, drawn) for key in self.options if key in right)
            return base.Verdict(True, 1.0, tuple(praise))
        if self.many and (missing := len(right - chosen)):
            says.append(plural("{number} more option is right.", "{number} more options are right.", missing))
        agreed = sum((key in chosen) == (key in right) for key in self.options)
        mistake = base.mistake_key(self.options[wrong[0]].says) if wrong else ""
        score = agreed / len(self.options) if self.many else self.options[wrong[0]].score
        if score and not self.many:
            says.append(worth_sentence(score))
        return base.Verdict(False, score, tuple(says), mistake=mistake)

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> base.Answer:
        """One field "answer", or several of that name."""
        if self.many:
            return list(form.get("answer", []))
        return super().answer_in(form)

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The text and the sentence of each option, too."""
        yield from super().texts()
        for key, option in self.options.items():
            yield ("options", key, "text"), option.text
            yield ("options", key, "says"), option.says

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """Something is right, something is wrong, and no two options read alike."""
        try:
            right = self.right(drawn.seed)
        except ExpressionError as error:
            yield base.Finding(("options",), str(error))
            return
        if len(right) == len(self.options):
            yield base.Finding(("correct",), "every option is right: nothing is left to choose")
        seen: dict[str, str] = {}
        for key, option in self.options.items():
            where = ("options", key, "text")
            try:
                text = self.fill(option.text, drawn)
            except ExpressionError as error:
                yield base.Finding(where, str(error))
                return
            if text in seen:
                yield base.Finding(where, f"reads the same as the option {seen[text]!r}")
            seen[text] = key

    def _chosen(self, answer: base.Answer) -> set[str]:
        chosen = {answer} if isinstance(answer, str) else set(answer)
        chosen.discard("")
        if isinstance(answer, dict) or not chosen:
            raise AnswerError(translate("choose an option first"))
        if len(chosen) > 1 and not self.many:
            raise AnswerError(translate("choose one option, not several"))
        for key in chosen:
            if key not in self.options:
                near = nearest(key, self.options)
                raise AnswerError(translate("no option is called {key!r}{near}", key=key, near=near))
        return chosen


CAUSE = "cause"  # the name of the answer that is chosen
_NO_PREDICTION = noted("no prediction is called {name!r}{near}")


@dataclass(frozen=True, slots=True)
class CauseQuestion:
    """The question about the measurement, and the causes to choose from."""

    prompt: str
    options: tuple[base.Option, ...]


@dataclass(frozen=True, slots=True)
class LabQuestion:
    """The quantities to predict, and the question about the cause."""

    fields: tuple[Box, ...]
    cause: CauseQuestion


class PredictedQuantity(AskedQuantity):
    """One quantity that is predicted by a formula, and that the lab measures."""

    measured: str = Field(
        description="the lab's measure, or MEASURE/DERIVED; of the line that fits all sizes, "
        "MEASURE/fitted latency and MEASURE/fitted bandwidth"
    )
    at: dict[str, str | int | float] = Field(
        default_factory=dict, description="where, as in size: 4 MiB; else the last place"
    )
    over: dict[str, str | int | float] = Field(default_factory=dict, description="divided by what is measured there")


class Cause(base.Strict):
    """Why the measurement differs from the formula, or does not."""

    prompt: base.Markdown = Field(description="the question about the measurement")
    options: dict[base.Slug, OptionText] = Field(min_length=2, description="key: text and says")
    correct: str = Field(description="the key of the right one")

    @model_validator(mode="after")
    def _names_an_option(self) -> Self:
        if self.correct not in self.options:
            raise unknown_option(self.correct, self.options)
        return self


class LabExercise(QuantityExercise):
    """Predict, measure, explain."""

    kind_title = noted("Lab")
    sample = "collectives/count-the-ring"
    asked_under = "predict"
    pace = 4.0
    kind: Literal["lab"]
    lab: str = Field(description="a name that `wallclock lab list` knows")
    run: dict[str, str | int | float] = Field(
        default_factory=dict, description="its parameters; the others keep their defaults"
    )
    backend: Literal["gloo", "nccl"] = Field(
        default="gloo", description="nccl: the form of the lab with one GPU per rank"
    )
    any_ranks: bool = Field(default=False, description="a published test may be taken whatever its number of ranks")
    predict: dict[str, PredictedQuantity] = Field(min_length=1, description="name: what is predicted")
    cause: Cause = Field(description="prompt, options and correct: why the measurement came out as it did")

    @property
    def asked(self) -> Mapping[str, AskedQuantity]:
        """What is predicted, by name."""
        return self.predict

    @model_validator(mode="after")
    def _keeps_names_apart(self) -> Self:
        if CAUSE in self.predict:
            raise ValueError(f"a prediction cannot be called {CAUSE!r}: that is the name of the choice")
        return self

    def parameters(self, seed: int) -> Mapping[str, str]:
        """The lab's parameters as *seed* sets them."""
        return self._set(self.run, seed)

    def places(self, name: str, seed: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Where the lab measures what *name* predicts, and what that is divided by."""
        asked = self.predict[name]
        return self._set(asked.at, seed), self._set(asked.over, seed)

    def _set(self, texts: Mapping[str, str | int | float], seed: int) -> Mapping[str, str]:
        """*texts* with drawn values as the lab takes them: 4,096 would be two of several."""
        drawn = self.draw(seed)
        plain = {name: text.replace(",", "") for name, text in drawn.shown.items()}
        with speaking(SOURCE):
            return {name: fill(str(text), drawn.names, plain) for name, text in texts.items()}

    @property
    def runs_lab(self) -> str:
        """The lab that measures it."""
        return self.lab

    def question(self, seed: int) -> LabQuestion:
        """The boxes, and the causes in the order that *seed* shuffles them to."""
        drawn = self.draw(seed)
        options = [base.Option(key, self.fill(o.text, drawn)) for key, o in self.cause.options.items()]
        prompt = self.fill(self.cause.prompt, drawn)
        cause = CauseQuestion(prompt, tuple(shuffle_things(seed, options)))
        return LabQuestion(self.boxes(seed), cause)

    def right_answer(self, seed: int) -> dict[str, str]:
        """The values of the formulas, to twelve figures, and the right cause."""
        return {**self.typed_answers(seed), CAUSE: self.cause.correct}

    def reveal(self, seed: int) -> str:
        """The values of the formulas, and the right cause."""
        text = self.fill(self.cause.options[self.cause.correct].text, self.draw(seed))
        return "\n".join([*self.listed_answers(seed), f"- {text}"])

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each listed mistake, and each wrong cause, with the rest right."""
        right, drawn = self.right_answer(seed), self.draw(seed)
        yield from self.mistyped_answers(seed, right)
        for name, option in self.cause.options.items():
            if name != self.cause.correct:
                yield {**right, CAUSE: name}, self.fill(option.says, drawn)

    def read(self, answer: base.Answer) -> Mapping[str, Reading]:
        """The predictions in *answer*, which must all be there.

        Raises:
            AnswerError: one is missing or cannot be read, or there is something else.
        """
        given, readings = base.named_answers(answer, [*self.predict, CAUSE], _NO_PREDICTION), {}
        for name in self.predict:
            if name not in given:
                raise AnswerError(translate("{name}: the prediction is empty: enter a number", name=name))
            readings[name] = self.read_box(name, given[name])
        return readings

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Compare predictions with the formulas, and the cause with the right one."""
        readings = self.read(answer)
        chosen = answer.get(CAUSE, "").strip() if isinstance(answer, dict) else ""
        if chosen and chosen not in self.cause.options:
            near = nearest(chosen, self.cause.options)
            raise AnswerError(translate("no cause is called {chosen!r}{near}", chosen=chosen, near=near))
        parts = self.judged(seed, readings)
        titles = {name: self.title_of(name, seed) for name in parts}
        numbers = dict(parts)
        option = self.cause.options.get(chosen)
        feedback = self.fill(option.says, self.draw(seed)) if option else ""
        right = chosen == self.cause.correct if option else None
        mistake = base.mistake_key(option.says) if option and not right else ""
        parts[CAUSE] = base.PartVerdict(right, feedback, mistake)
        says = part_sentences(numbers, titles, len(parts))
        says.append(feedback or translate("The cause is not chosen yet."))
        score = sum(part.share for part in parts.values()) / len(parts)
        return base.Verdict(score == 1, score, tuple(says), parts, base.first_mistake(parts.values()))

    def judged(self, seed: int, readings: Mapping[str, Reading]) -> dict[str, base.PartVerdict]:
        """The verdict on each prediction, with the mistake behind a wrong one where it shows."""
        keys = self.keys(seed)
        return {name: keys[name].judge(reading) for name, reading in readings.items()}

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """A field "answer.NAME" for each prediction, and "answer.cause"."""
        return base.posted_answers(form, (*self.predict, CAUSE))

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The causes, too."""
        yield from super().texts()
        yield ("cause", "prompt"), self.cause.prompt
        for key, option in self.cause.options.items():
            yield ("cause", "options", key, "text"), option.text
            yield ("cause", "options", key, "says"), option.says

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """Predictions have the right unit, and mistakes are apart from them."""
        try:
            yield from self.clashes(self.keys(drawn.seed))
        except ExpressionError as error:
            yield base.Finding(self.place_of(next(iter(self.predict)), "answer"), str(error))
