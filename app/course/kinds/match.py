"""Exercises that ask for matching pairs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from app.core.errors import AnswerError, PlacedError, nearest
from app.core.translation import noted, plural, translate
from app.course.kinds.answers import Answer, PartVerdict, Verdict, first_mistake, mistake_key
from app.course.kinds.base import Base, Finding, Slug, Where
from app.course.kinds.drawn_values import Draw, shuffled
from app.course.kinds.strict import Markdown, Strict
from app.course.sandbox.runner import Runner

_FORESEEN = 2  # wrong pairs with a sentence, at least


@dataclass(frozen=True, slots=True)
class Side:
    """A thing on one of the two sides."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class MatchQuestion:
    """The things, and what each may go with; both in the order that the seed shuffles them to."""

    things: tuple[Side, ...]
    partners: tuple[Side, ...]


class Thing(Strict):
    """A thing, and what it goes with."""

    text: Markdown
    to: Slug | list[Slug] = Field(description="the partner, or several of which each is right")
    says: dict[Slug, Markdown] = Field(default_factory=dict, description="a wrong partner: its feedback")

    @property
    def partners(self) -> list[str]:
        """Every right partner."""
        return [self.to] if isinstance(self.to, str) else self.to


class Match(Base):
    """Match each item with its partner."""

    kind_title = noted("Matching")
    sample = "diagnosis/technique-and-lever"
    pace = 1.5
    kind: Literal["match"]
    partners: dict[Slug, Markdown] = Field(
        min_length=2, description="key: text; one may go with several things, or with none"
    )
    things: dict[Slug, Thing] = Field(min_length=2, description="key: text, to, and says of wrong partners")

    @model_validator(mode="after")
    def _partners_are_known(self) -> Self:
        for key, thing in self.things.items():
            known = f"the partners are {', '.join(self.partners)}"
            for part, partners in (("to", thing.partners or [""]), ("says", thing.says)):
                for partner in partners:
                    if partner not in self.partners:
                        says = f"no partner is called {partner!r}{nearest(partner, self.partners)}"
                        raise PlacedError(says, ("things", key, part), known)
            if both := set(thing.partners) & set(thing.says):
                says = f"{sorted(both)[0]!r} is right, and `says` calls it wrong"
                raise PlacedError(says, ("things", key, "says"), "keep it in one of the two")
        return self

    @property
    def variation(self) -> str:
        """What another seed changes."""
        return super().variation or translate("Shuffles both sides again.")

    def question(self, seed: int) -> MatchQuestion:
        """Both sides, shuffled."""
        drawn = self.draw(seed)
        things = [Side(key, self.fill(thing.text, drawn)) for key, thing in self.things.items()]
        partners = [Side(key, self.fill(text, drawn)) for key, text in self.partners.items()]
        return MatchQuestion(tuple(shuffled(seed, things)), tuple(shuffled(seed + 1, partners)))

    def right_answer(self, seed: int) -> Answer:
        """The first right partner of each thing."""
        return {key: thing.partners[0] for key, thing in self.things.items()}

    def reveal(self, seed: int) -> str:
        """Each thing with its partners."""
        drawn = self.draw(seed)
        return "\n".join(
            f"- {self.fill(thing.text, drawn)}: "
            + " or ".join(self.fill(self.partners[key], drawn) for key in thing.partners)
            for thing in self.things.values()
        )

    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each wrong partner that the author speaks of, alone."""
        drawn = self.draw(seed)
        right = {key: thing.partners[0] for key, thing in self.things.items()}
        for key, thing in self.things.items():
            for partner, says in thing.says.items():
                yield {**right, key: partner}, self.fill(says, drawn)

    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Judge each pair alone."""
        given, drawn = self._read(answer), self.draw(seed)
        parts = {key: self._judge(key, given.get(key, ""), drawn) for key in self.things}
        score = sum(part.correct is True for part in parts.values()) / len(parts)
        if score == 1:
            return Verdict(True, 1.0, (translate("Right: every pair matches."),), parts)
        says = [
            f"*{self.fill(self.things[key].text, drawn)}*: {part.says}"
            for key, part in parts.items()
            if part.correct is False
        ]
        if empty := sum(part.correct is None for part in parts.values()):
            says.append(plural("{number} is not matched yet.", "{number} are not matched yet.", empty))
        return Verdict(False, score, tuple(says), parts, first_mistake(parts.values()))

    def _judge(self, key: str, partner: str, drawn: Draw) -> PartVerdict:
        thing = self.things[key]
        if not partner:
            return PartVerdict(None, "")
        if partner in thing.partners:
            return PartVerdict(True, translate("Right."))
        if partner in thing.says:
            says = thing.says[partner]
            return PartVerdict(False, self.fill(says, drawn), mistake_key(says))
        other = self.fill(self.partners[partner], drawn)
        return PartVerdict(False, translate("This does not go with “{partner}”.", partner=other))

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> Answer:
        """A field "answer.KEY" for each thing."""
        return {key: form[f"answer.{key}"][0] for key in self.things if form.get(f"answer.{key}")}

    def texts(self) -> Iterator[tuple[Where, str]]:
        """Both sides and the sentences of wrong pairs, too."""
        yield from super().texts()
        for key, text in self.partners.items():
            yield ("partners", key), text
        for key, thing in self.things.items():
            yield ("things", key, "text"), thing.text
            for partner, says in thing.says.items():
                yield ("things", key, "says", partner), says

    def prove(self, drawn: Draw) -> Iterator[Finding]:
        """At least two wrong pairs have a sentence of their own."""
        if sum(len(thing.says) for thing in self.things.values()) < _FORESEEN:
            yield Finding(("things",), "fewer than two wrong pairs have a sentence under `says`")

    def _read(self, answer: Answer) -> dict[str, str]:
        if not isinstance(answer, dict):
            raise AnswerError(translate("the answer must be an object with {things}", things=", ".join(self.things)))
        for key, partner in answer.items():
            if key not in self.things:
                raise AnswerError(translate("no item is called {key!r}{near}", key=key, near=nearest(key, self.things)))
            if partner and partner not in self.partners:
                near = nearest(partner, self.partners)
                raise AnswerError(
                    translate("{key}: no partner is called {partner!r}{near}", key=key, partner=partner, near=near)
                )
        given = {key: partner for key, partner in answer.items() if partner}
        if not given:
            raise AnswerError(translate("match at least one pair first"))
        return given
