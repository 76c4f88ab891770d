"""Exercises with options, one or several of which are right."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from app.core.errors import AnswerError, PlacedError, nearest
from app.core.expressions import ExpressionError, holds
from app.core.translation import noted, plural, translate
from app.course.kinds.answer_key import worth_sentence
from app.course.kinds.answers import Answer, Verdict, mistake_key
from app.course.kinds.base import Base, Finding, Markdown, Slug, Strict, Where
from app.course.kinds.drawn_values import Draw, shuffled
from app.course.sandbox.runner import Runner

FIRST = "first"


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """The options; *many* when any number of them may be chosen."""

    options: tuple[Option, ...]
    many: bool


class Offered(Strict):
    """An option as its author writes it."""

    text: Markdown
    says: Markdown = Field(description="feedback when it is chosen")
    when: str = Field(default="", description="with correct: first, when this one is right")


class ScoredOption(Offered):
    """An option that may be worth a part of the points where it is not right."""

    score: float = Field(
        default=0.0, ge=0, lt=1, description="the share of the points, such as 0.5, for this option where it is wrong"
    )


def unknown_option(key: str, options: Collection[str]) -> PlacedError:
    """What is wrong with a *key* under `correct` that is not one of the *options*."""
    says = f"no option is called {key!r}{nearest(key, options)}" if key else "names no option"
    return PlacedError(says, ("correct",), f"the options are {', '.join(options)}")


class Choice(Base):
    """Choose one option, or all that apply."""

    kind_title = noted("Choice")
    sample = "memory/fsdp-default"
    pace = 1.0
    kind: Literal["choice"]
    options: dict[Slug, ScoredOption] = Field(
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
        """About how long it takes: where several options are right, half a minute for each option.

        Twice as long where the drawn values decide which one is right.
        """
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
        options = [Option(key, self.fill(o.text, drawn)) for key, o in self.options.items()]
        return ChoiceQuestion(tuple(shuffled(seed, options)), self.many)

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

    def right_answer(self, seed: int) -> Answer:
        """The key, or the keys."""
        keys = [key for key in self.options if key in self.right(seed)]
        return keys if self.many else keys[0]

    def reveal(self, seed: int) -> str:
        """The text of each right option."""
        drawn, right = self.draw(seed), self.right(seed)
        texts = [self.fill(o.text, drawn) for key, o in self.options.items() if key in right]
        return "\n".join(f"- {text}" for text in texts) if self.many else texts[0]

    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each wrong option, alone."""
        drawn, right = self.draw(seed), self.right(seed)
        for key, option in self.options.items():
            if key not in right:
                says = self.fill(option.says, drawn)
                yield ([key] if self.many else key), says

    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Compare the chosen keys with the right ones; of several, each counts alike."""
        chosen, right = self._chosen(answer), self.right(seed)
        drawn = self.draw(seed)
        wrong = [key for key in self.options if key in chosen - right]
        says = [self.fill(self.options[key].says, drawn) for key in wrong]
        if chosen == right:
            praise = (self.fill(self.options[key].says, drawn) for key in self.options if key in right)
            return Verdict(True, 1.0, tuple(praise))
        if self.many and (missing := len(right - chosen)):
            says.append(plural("{number} more option is right.", "{number} more options are right.", missing))
        agreed = sum((key in chosen) == (key in right) for key in self.options)
        mistake = mistake_key(self.options[wrong[0]].says) if wrong else ""
        score = agreed / len(self.options) if self.many else self.options[wrong[0]].score
        if score and not self.many:
            says.append(worth_sentence(score))
        return Verdict(False, score, tuple(says), mistake=mistake)

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> Answer:
        """One field "answer", or several of that name."""
        if self.many:
            return list(form.get("answer", []))
        return super().answer_in(form)

    def texts(self) -> Iterator[tuple[Where, str]]:
        """The text and the sentence of each option, too."""
        yield from super().texts()
        for key, option in self.options.items():
            yield ("options", key, "text"), option.text
            yield ("options", key, "says"), option.says

    def prove(self, drawn: Draw) -> Iterator[Finding]:
        """Something is right, something is wrong, and no two options read alike."""
        try:
            right = self.right(drawn.seed)
        except ExpressionError as error:
            yield Finding(("options",), str(error))
            return
        if len(right) == len(self.options):
            yield Finding(("correct",), "every option is right: nothing is left to choose")
        seen: dict[str, str] = {}
        for key, option in self.options.items():
            text = self.fill(option.text, drawn)
            if text in seen:
                where = ("options", key, "text")
                yield Finding(where, f"reads the same as the option {seen[text]!r}")
            seen[text] = key

    def _chosen(self, answer: Answer) -> set[str]:
        chosen = {answer} if isinstance(answer, str) else set(answer)
        chosen.discard("")
        if isinstance(answer, dict) or not chosen:
            raise AnswerError(translate("choose an option first"))
        if len(chosen) > 1 and not self.many:
            raise AnswerError(translate("choose one option, not several"))
        for key in chosen:
            if key not in self.options:
                raise AnswerError(
                    translate("no option is called {key!r}{near}", key=key, near=nearest(key, self.options))
                )
        return chosen
