"""Exercises whose answer is an order of steps, or matching pairs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Literal, Self

from pydantic import Field, model_validator

from app.core.errors import AnswerError, nearest
from app.core.translation import noted, plural, translate
from app.core.validation import PlacedError
from app.course.kinds import base
from app.course.kinds.drawn_values import Draw, shuffle_things
from app.course.sandbox.runner import Runner

_BEFORE = " before "


@dataclass(frozen=True, slots=True)
class OrderQuestion:
    """The things, shuffled; *strangers* when some of them belong nowhere."""

    items: tuple[base.Option, ...]
    strangers: bool


class OrderedStep(base.Strict):
    """A thing, and those that must have come before it."""

    text: base.Markdown
    after: list[str] = Field(default_factory=list)


class Stranger(base.Strict):
    """A thing that belongs nowhere."""

    text: base.Markdown
    says: base.Markdown


class Order(base.Base):
    """Put steps in an order that works."""

    kind_title = noted("Order")
    sample = "collectives/steps-of-a-ring"
    kind: Literal["order"]
    items: dict[base.Slug, OrderedStep] = Field(
        min_length=3, description="key: text, and after: the keys that must have come before"
    )
    strangers: dict[base.Slug, Stranger] = Field(
        default_factory=dict, description="key: text and says, of what belongs nowhere"
    )
    says: dict[str, base.Markdown] = Field(default_factory=dict, description='"b before a": feedback on that order')

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        for key, step in self.items.items():
            for other in step.after:
                if other not in self.items:
                    says = f"no item is called {other!r}{nearest(other, self.items)}"
                    known = f"the items are {', '.join(self.items)}"
                    raise PlacedError(says, ("items", key, "after"), known)
        try:
            list(TopologicalSorter({k: s.after for k, s in self.items.items()}).static_order())
        except CycleError as error:
            circle = error.args[1]
            says = f"goes in a circle: {' after '.join(reversed(circle))}"
            raise PlacedError(says, ("items", circle[1], "after"), "take one of them out") from None
        for pair in self.says:
            if _pair(pair) not in {(b, a) for a, b in self.before}:
                says = "is not a wrong order of two items"
                raise PlacedError(says, ("says", pair), 'write "b before a", where b comes later')
        return self

    @cached_property
    def before(self) -> frozenset[tuple[str, str]]:
        """Every pair (a, b) where a must come before b, directly or not."""
        earlier: dict[str, set[str]] = {}
        for key in TopologicalSorter({k: s.after for k, s in self.items.items()}).static_order():
            after = self.items[key].after
            earlier[key] = set(after).union(*(earlier[other] for other in after))
        return frozenset((a, b) for b, before in earlier.items() for a in before)

    @property
    def variation(self) -> str:
        """What another seed changes."""
        return super().variation or translate("Shuffles the statements again.")

    def question(self, seed: int) -> OrderQuestion:
        """The things, in the order that *seed* shuffles them to."""
        drawn = self.draw(seed)
        texts = {key: step.text for key, step in self.items.items()}
        texts |= {key: stranger.text for key, stranger in self.strangers.items()}
        items = [base.Option(key, self.fill(text, drawn)) for key, text in texts.items()]
        return OrderQuestion(tuple(self._mixed(seed, items)), bool(self.strangers))

    def _mixed(self, seed: int, items: list[base.Option]) -> list[base.Option]:
        """*items*, shuffled until their order is not a right one."""
        for turn in range(len(items) + 2):
            mixed = shuffle_things(seed + turn, items)
            if self._wrong_pairs([item.key for item in mixed]):
                return mixed
        return items[::-1]

    def right_answer(self, seed: int) -> base.Answer:
        """The order in which the author wrote them."""
        return list(self.items)

    def reveal(self, seed: int) -> str:
        """The things in order, numbered."""
        drawn = self.draw(seed)
        texts = (self.fill(step.text, drawn) for step in self.items.values())
        return "\n".join(f"{place}. {text}" for place, text in enumerate(texts, 1))

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each wrong pair and each stranger that the author speaks of, alone."""
        drawn = self.draw(seed)
        for pair, says in self.says.items():
            early, late = _pair(pair)
            keys = list(self.items)
            keys.remove(early)
            keys.insert(keys.index(late), early)
            yield keys, self.fill(says, drawn)
        for key, stranger in self.strangers.items():
            yield [*self.items, key], self.fill(stranger.says, drawn)

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Credit each pair in a possible order; missing steps and strangers reduce the score."""
        keys, drawn = self._read(answer), self.draw(seed)
        wrong = self._wrong_pairs(keys)
        guests = [key for key in keys if key in self.strangers]
        missing = [key for key in self.items if key not in keys]
        if not (wrong or guests or missing):
            return base.Verdict(True, 1.0, (translate("Right: every step comes after those that it needs."),))
        told = [self.says[pair] for pair in self.says if _pair(pair) in wrong]
        told += [self.strangers[key].says for key in guests]
        says = [self.fill(text, drawn) for text in told]
        if missing:
            says.append(plural("{number} step is missing.", "{number} steps are missing.", len(missing)))
        if not says:
            early, late = min(wrong, key=lambda pair: [keys.index(key) for key in pair])
            first, second = (self.fill(self.items[key].text, drawn) for key in (early, late))
            says = [translate("“{first}” cannot come before “{second}”.", first=first, second=second)]
        mistake = base.mistake_key(told[0]) if told else ""
        return base.Verdict(False, self._score(keys, wrong), tuple(says), mistake=mistake)

    def _score(self, keys: Sequence[str], wrong: frozenset[tuple[str, str]]) -> float:
        """The share of the pairs that must be in one order and are, less that of strangers."""
        there = sum(a in keys and b in keys for a, b in self.before)
        guests = sum(key in self.strangers for key in keys)
        share = (there - len(wrong)) / len(self.before)
        return max(0.0, min(share, 1.0) * (1 - guests / (len(self.strangers) + 1)))

    def _wrong_pairs(self, keys: Sequence[str]) -> frozenset[tuple[str, str]]:
        return frozenset(pair for pair in combinations(keys, 2) if pair[::-1] in self.before)

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> base.Answer:
        """Keys in order under "answer", or the place of each under "place.KEY"."""
        if form.get("answer"):
            return list(form["answer"])
        places: list[tuple[int, str]] = []
        for key in (*self.items, *self.strangers):
            if written := next(iter(form.get(f"place.{key}", [])), "").strip():
                if not (written.isdecimal() and len(written) <= len("999")):
                    raise AnswerError(
                        translate("a place must be a whole number such as 1, not {written!r}", written=written)
                    )
                places.append((int(written), key))
        numbers = [place for place, _ in places]
        if twice := next((n for n in numbers if numbers.count(n) > 1), 0):
            raise AnswerError(translate("place {twice} is given twice", twice=twice))
        return [key for _, key in sorted(places)]

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The texts of things and the sentences of wrong pairs and strangers, too."""
        yield from super().texts()
        for key, step in self.items.items():
            yield ("items", key, "text"), step.text
        for key, stranger in self.strangers.items():
            yield ("strangers", key, "text"), stranger.text
            yield ("strangers", key, "says"), stranger.says
        for pair, says in self.says.items():
            yield ("says", pair), says

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """The written order is right, and something can be out of order."""
        if self._wrong_pairs(list(self.items)):
            yield base.Finding(("items",), "are not written in an order that their `after` allows")
        if not self.before:
            yield base.Finding(("items",), "any order is right: say which comes `after` which")

    def _read(self, answer: base.Answer) -> list[str]:
        if not isinstance(answer, list):
            raise AnswerError(translate("the answer must be a list of keys, in order"))
        if not answer:
            raise AnswerError(translate("put the steps in order first"))
        known = [*self.items, *self.strangers]
        for place, key in enumerate(answer):
            if key not in known:
                raise AnswerError(translate("no item is called {name!r}{near}", name=key, near=nearest(key, known)))
            if key in answer[:place]:
                raise AnswerError(translate("{key!r} appears twice", key=key))
        return answer


def _pair(text: str) -> tuple[str, str]:
    early, _, late = text.partition(_BEFORE)
    return early.strip(), late.strip()


_FORESEEN = 2  # wrong pairs with a sentence, at least
_NO_THING = noted("no item is called {name!r}{near}")


@dataclass(frozen=True, slots=True)
class MatchQuestion:
    """The things, and what each may go with; both in the order that the seed shuffles them to."""

    things: tuple[base.Option, ...]
    partners: tuple[base.Option, ...]


class Thing(base.Strict):
    """A thing, and what it goes with."""

    text: base.Markdown
    to: base.Slug | list[base.Slug] = Field(description="the partner, or several of which each is right")
    says: dict[base.Slug, base.Markdown] = Field(default_factory=dict, description="a wrong partner: its feedback")

    @property
    def partners(self) -> list[str]:
        """Every right partner."""
        return [self.to] if isinstance(self.to, str) else self.to


class Match(base.Base):
    """Match each item with its partner."""

    kind_title = noted("Matching")
    sample = "diagnosis/technique-and-lever"
    pace = 1.5
    kind: Literal["match"]
    partners: dict[base.Slug, base.Markdown] = Field(
        min_length=2, description="key: text; one may go with several things, or with none"
    )
    things: dict[base.Slug, Thing] = Field(min_length=2, description="key: text, to, and says of wrong partners")

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
        things = [base.Option(key, self.fill(thing.text, drawn)) for key, thing in self.things.items()]
        partners = [base.Option(key, self.fill(text, drawn)) for key, text in self.partners.items()]
        return MatchQuestion(tuple(shuffle_things(seed, things)), tuple(shuffle_things(seed + 1, partners)))

    def right_answer(self, seed: int) -> base.Answer:
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

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each wrong partner that the author speaks of, alone."""
        drawn = self.draw(seed)
        right = {key: thing.partners[0] for key, thing in self.things.items()}
        for key, thing in self.things.items():
            for partner, says in thing.says.items():
                yield {**right, key: partner}, self.fill(says, drawn)

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Judge each pair alone."""
        given, drawn = self._read(answer), self.draw(seed)
        parts = {key: self._judge(key, given.get(key, ""), drawn) for key in self.things}
        score = sum(part.correct is True for part in parts.values()) / len(parts)
        if score == 1:
            return base.Verdict(True, 1.0, (translate("Right: every pair matches."),), parts)
        says = [
            f"*{self.fill(self.things[key].text, drawn)}*: {part.says}"
            for key, part in parts.items()
            if part.correct is False
        ]
        if empty := sum(part.correct is None for part in parts.values()):
            says.append(plural("{number} is not matched yet.", "{number} are not matched yet.", empty))
        return base.Verdict(False, score, tuple(says), parts, base.first_mistake(parts.values()))

    def _judge(self, key: str, partner: str, drawn: Draw) -> base.PartVerdict:
        thing = self.things[key]
        if not partner:
            return base.PartVerdict(None, "")
        if partner in thing.partners:
            return base.PartVerdict(True, translate("Right."))
        if partner in thing.says:
            says = thing.says[partner]
            return base.PartVerdict(False, self.fill(says, drawn), base.mistake_key(says))
        other = self.fill(self.partners[partner], drawn)
        return base.PartVerdict(False, translate("This does not go with “{partner}”.", partner=other))

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> base.Answer:
        """A field "answer.KEY" for each thing."""
        return base.posted_answers(form, self.things)

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """Both sides and the sentences of wrong pairs, too."""
        yield from super().texts()
        for key, text in self.partners.items():
            yield ("partners", key), text
        for key, thing in self.things.items():
            yield ("things", key, "text"), thing.text
            for partner, says in thing.says.items():
                yield ("things", key, "says", partner), says

    def prove(self, drawn: Draw) -> Iterator[base.Finding]:
        """At least two wrong pairs have a sentence of their own."""
        if sum(len(thing.says) for thing in self.things.values()) < _FORESEEN:
            yield base.Finding(("things",), "fewer than two wrong pairs have a sentence under `says`")

    def _read(self, answer: base.Answer) -> dict[str, str]:
        given = base.named_answers(answer, self.things, _NO_THING)
        for key, partner in given.items():
            if partner not in self.partners:
                near = nearest(partner, self.partners)
                raise AnswerError(
                    translate("{key}: no partner is called {partner!r}{near}", key=key, partner=partner, near=near)
                )
        if not given:
            raise AnswerError(translate("match at least one pair first"))
        return given
