"""Exercises that show a listing in which exactly one line is wrong: no other line cures it."""

import ast
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from app.core.errors import AnswerError, UnavailableError
from app.core.expressions import ExpressionError, evaluate
from app.core.translation import noted, translate
from app.core.units import figures
from app.core.validation import PlacedError
from app.course.kinds import base
from app.course.kinds.code import mutation
from app.course.kinds.code.adequacy import sensible
from app.course.kinds.code.agreement import alike, combinations
from app.course.kinds.code.calls import Argument, CodeExercise, TrialCall, function_in, refuse_lost, round_result
from app.course.kinds.code.interpreter import CompiledListing, ListingError
from app.course.kinds.code.mutants import TreePlace, walk_places
from app.course.kinds.drawn_values import Draw, shuffle_things
from app.course.sandbox.process import CallReturned
from app.course.sandbox.runner import Runner

_NUMBERS = (1, 2)
_SUMS: Sequence[type[ast.operator]] = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_SIGNS = (*_SUMS, ast.FloorDiv, ast.Mod)
_VALUES = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.Subscript, ast.IfExp)
_NO_VALUES = ("target", "targets", "func", "slice", "ctx", "op", "ops", "body", "orelse")
_PLACE = {"lineno": 0, "col_offset": 0}


def other_cure(listing: mutation.Listing, line: int, argued: Mapping[int, str]) -> tuple[int, str] | None:
    """A line of the wrong *listing* that is not *line*, and how it would read to make every call right.

    What its author says of a line under *argued* answers for the cures of that line if it quotes one of them.
    """
    calls = [*listing.calls, *listing.more]
    program = CompiledListing(listing.tree, listing.entry)
    wrong = [call for call in calls if not replace(listing, calls=[call], more=()).is_right_as(program)]
    # The calls in front show its bug, so that most changes are refuted by the first one.
    ahead = replace(listing, calls=[*wrong, *(call for call in calls if call not in wrong)], more=())
    others = (edit for edit in mutation.all_edits(listing.lines) if edit.line != line and ahead.changed(edit).is_right)
    edited = ((edit.line, edit.text.strip()) for edit in others)
    found: dict[int, str] = {}
    for number, text in chain(edited, _rewritten(ahead, line)):
        if f"`{text}`" in argued.get(number, ""):
            found[number] = ""
        elif found.setdefault(number, text) and "`" not in argued.get(number, ""):
            return number, text
    return next(((number, text) for number, text in found.items() if text), None)


def _rewritten(listing: mutation.Listing, line: int) -> Iterator[tuple[int, str]]:
    """The lines other than *line* in which another value makes every call right."""
    tree = listing.tree
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    program = CompiledListing(tree, listing.entry)  # each run reads the tree again
    terms = _terms(function, listing)
    for statement in mutation.walk_statements(function.body):
        if statement.lineno == line:
            continue
        for place in list(walk_places(statement, _NO_VALUES)):
            for value in _candidates(place, terms, alone=place.parent is statement):
                place.put(value)
                if listing.is_right_as(program):
                    yield statement.lineno, ast.unparse(statement).splitlines()[0]
                place.put(place.node)


def _terms(function: ast.FunctionDef, listing: mutation.Listing) -> list[ast.expr]:
    """Every name of *function* that has a number, some numbers, and the lengths of its lists."""
    arguments = [argument.arg for argument in function.args.args]
    called = zip(arguments, listing.calls[0].arguments, strict=False)
    lists = [name for name, value in called if isinstance(value, list)]
    stored = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    names = [name for name in dict.fromkeys([*arguments, *stored]) if name not in lists]
    lengths = [ast.Call(_name("len"), [_name(name)], [], **_PLACE) for name in lists]
    return [*map(_name, names), *(ast.Constant(number, lineno=0, col_offset=0) for number in _NUMBERS), *lengths]


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load(), **_PLACE)


def _candidates(place: TreePlace, terms: Sequence[ast.expr], *, alone: bool) -> Iterator[ast.expr]:
    """What could stand in *place* and is about as simple, in a statement of its own if *alone*."""
    node = place.node
    if not isinstance(node, _VALUES):
        return
    yield from terms
    for sign, term in product(_SIGNS, terms):
        yield _binary(node, sign, term)
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    for wrap, term in product(("min", "max") if alone else (), terms):
        yield ast.Call(_name(wrap), [node, term], [], **_PLACE)
    if alone or isinstance(node, ast.Constant):
        for left, sign, right in product(terms, _SUMS, terms):
            yield _binary(left, sign, right)


def _binary(left: ast.expr, sign: type[ast.operator], right: ast.expr) -> ast.BinOp:
    return ast.BinOp(left, sign(), right, **_PLACE)


def read_line(answer: base.Answer, count: int) -> int:
    """The line that *answer* names, from 1 to *count*.

    Raises:
        AnswerError: it is not such a number.
    """
    text = base.single_text(answer).strip().lower().removeprefix("line").strip(" #")
    if not text:
        raise AnswerError(translate("choose a line first"))
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(count))):
        raise AnswerError(
            translate("the answer must be a line number from 1 to {count}, not {text!r}", count=count, text=text[:20])
        )
    if not 1 <= int(text) <= count:
        raise AnswerError(
            translate("line {line} does not exist: the listing has {count} lines", line=int(text), count=count)
        )
    return int(text)


def symptom_text(says: str) -> str:
    """*says*, with the sentence on a kind of bug that it may begin with in the current language."""
    known = next((one for one in mutation.SAYS.values() if says.startswith(one)), "")
    return translate(known) + says[len(known) :] if known else says


def symptom_of(effect: mutation.Effect) -> str:
    """The result in words, compared with the right one."""
    if effect.raises:
        article = "an" if effect.raises[0] in "AEIOUae" else "a"
        return f"raises {article} {effect.raises}{'' if effect.always else ' for some arguments'}"
    if effect.ratio is None:
        return f"comes out too {effect.lean}" if effect.lean else "comes out wrong"
    if effect.ratio == 0:
        return "comes out as 0"
    if effect.ratio < 0:
        much = "" if effect.ratio == -1 else f" and at {figures(-effect.ratio)} of the right size"
        return f"comes out with the wrong sign{much}"
    if effect.ratio > 1:
        return f"comes out {figures(effect.ratio)} times too large"
    return f"comes out at {figures(effect.ratio)} of the right value"


_MORE = 60  # calls, at most, to describe what a bug does
_ENOUGH = 4  # listed bugs, beside which none is drawn from the listing
_DRAWN = 10  # as many times as one listed bug a bug from the listing itself is drawn


@dataclass(frozen=True, slots=True)
class BuggyLineQuestion:
    """The listing."""

    lines: tuple[str, ...]


class Bug(base.Strict):
    """One line that is shown instead of the right one."""

    line: int = Field(ge=1)
    shown: str = Field(min_length=1, description="the wrong line, with its indentation")
    says: base.Markdown = Field(description="why it is wrong, and what would be right")
    symptom: str = Field(default="", description="the text that {symptom} stands for")


class BuggyLine(CodeExercise):
    """Find the line with the bug."""

    kind_title = noted("Find the bug")
    sample = "collectives/estimate-off-by-a-factor"
    kind: Literal["buggy_line"]
    code: str = Field(min_length=1, description="the RIGHT listing")
    bugs: list[Bug] = Field(default_factory=list, description="line, shown, says, symptom; one of them is drawn")
    mutate: list[mutation.Operator] = Field(
        default_factory=list, description="draw bugs from the listing: constant, operator, factor, off-by-one, swap"
    )
    also: list[str] = Field(
        default_factory=list,
        description="expressions of what it returns in a list after the reference: values on the "
        "way, without which another line could be changed instead",
    )
    elsewhere: dict[int, base.Markdown] = Field(
        default_factory=dict,
        description="feedback on a line that is right; if a bug has another cure there, it quotes it in backticks",
    )
    entry: str = Field(default="", description="the function to call; the first one if empty")
    _drawn_bugs: base.ValueCache[int, Bug] = PrivateAttr(default_factory=base.ValueCache)

    @model_validator(mode="after")
    def _lines_exist(self) -> Self:
        if not (self.bugs or self.mutate):
            raise ValueError("give bugs, or use mutate to draw them")
        lines = self.code.splitlines()
        named: dict[base.Where, int] = {("elsewhere", line): line for line in self.elsewhere}
        named |= {("bugs", place, "line"): bug.line for place, bug in enumerate(self.bugs)}
        for where, line in named.items():
            if not 1 <= line <= len(lines):
                says = f"line {line} does not exist: the code has {len(lines)} lines"
                raise PlacedError(says, where, f"write a number from 1 to {len(lines)}")
        for place, bug in enumerate(self.bugs):
            if lines[bug.line - 1].strip() == bug.shown.strip():
                says = f"the wrong line {bug.line} is the same as the right one"
                raise PlacedError(says, ("bugs", place, "shown"), "write what is wrong there")
        function_in(self.code)
        return self

    @property
    def variation(self) -> str:
        """What another seed changes."""
        draws = self.mutate or len(self.bugs) > 1
        return translate("Draws another bug.") if draws else super().variation

    def bug(self, seed: int) -> Bug:
        """The bug that *seed* draws; at 0 the first one.

        Raises:
            ExpressionError: none can be drawn from the listing.
        """
        if seed == 0 and self.bugs:
            return self.bugs[0]
        share = random.Random(f"bug {seed}").random()
        if not self.mutate:
            return self.bugs[int(share * len(self.bugs))]
        if share < len(self.bugs) / (len(self.bugs) + _DRAWN):
            return self.bugs[int(share * (len(self.bugs) + _DRAWN))]
        return self._drawn_bugs.of(seed, lambda: self._first_mutant(seed))

    def _first_mutant(self, seed: int) -> Bug:
        found = next(self.mutants(seed), None)
        if found is None:
            raise ExpressionError("no change of one line shows in the drawn calls")
        return self._bug_of(found)

    def mutants(self, seed: int) -> Iterator[mutation.Mutant]:
        """The bugs that can be drawn from the listing, in the order of *seed*.

        Raises:
            ExpressionError: it is more than arithmetic.
        """
        try:
            yield from self._mutants.drawn(lambda edits: shuffle_things(seed, edits))
        except ListingError as error:
            raise ExpressionError(f"no bugs can be drawn from the code: {error}") from error

    @cached_property
    def _mutants(self) -> mutation.Mutants:
        return mutation.Mutants(self._right_listing, self.mutate)

    @cached_property
    def _right_listing(self) -> mutation.Listing:
        """The right listing, with calls that tell bugs, and more that describe them."""
        columns = self.arguments.values()
        places = sensible(self.arguments, self.makes_sense)[:: 1 + prod(map(len, columns)) // _MORE]
        rows = combinations(list(columns), places)
        more = [self.call(self._called, row) for row in rows]
        return mutation.Listing(self.code.splitlines(), self._called, self.calls(self._called, 0), more)

    def _call(self, entry: str, row: Sequence[Argument]) -> TrialCall:
        """The call, and all that the function should return."""
        call = super()._call(entry, row)
        if not self.also:
            return call
        names = self.argument_names(row)
        others = [evaluate(expression, names).value for expression in self.also]
        return replace(call, expected=[call.expected, *others])

    @property
    def _called(self) -> str:
        """The function that is called."""
        return self.entry or function_in(self.code)

    def _bug_of(self, mutant: mutation.Mutant) -> Bug:
        """*mutant*, with what its line is about where the author says it."""
        says = mutation.SAYS[mutant.operator]
        if about := self.elsewhere.get(mutant.line):
            says = f"{says} {about}"
        symptom = symptom_of(mutant.effect)
        return Bug(line=mutant.line, shown=mutant.shown, says=says, symptom=symptom)

    def _draw(self, seed: int) -> Draw:
        """The drawn values, and the symptom of the bug that is shown."""
        drawn = super()._draw(seed)
        return replace(drawn, shown={**drawn.shown, "symptom": self.bug(seed).symptom})

    def listing(self, bug: Bug) -> list[str]:
        """The lines with *bug* among them."""
        lines = self.code.splitlines()
        lines[bug.line - 1] = bug.shown.rstrip()
        return lines

    def question(self, seed: int) -> BuggyLineQuestion:
        """The listing with the bug."""
        return BuggyLineQuestion(tuple(self.listing(self.bug(seed))))

    def right_answer(self, seed: int) -> base.Answer:
        """The number of the line."""
        return str(self.bug(seed).line)

    def reveal(self, seed: int) -> str:
        """The line, and how it reads when it is right."""
        line = self.bug(seed).line
        right = self.code.splitlines()[line - 1].strip()
        return translate("Line **{line}**. It should read `{right}`.", line=line, right=right)

    def mistakes(self, seed: int) -> Iterator[tuple[base.Answer, str]]:
        """Each right line that the author speaks of."""
        for line, says in self.elsewhere.items():
            if line != self.bug(seed).line:
                yield str(line), self.fill(says, self.draw(seed))

    async def grade(self, seed: int, answer: base.Answer, runner: Runner, learner: str = "") -> base.Verdict:
        """Compare the number of the line."""
        bug, drawn = self.bug(seed), self.draw(seed)
        line = read_line(answer, len(self.code.splitlines()))
        if line == bug.line:
            return base.Verdict(True, 1.0, (symptom_text(self.fill(bug.says, drawn)), self.reveal(seed)))
        if says := self.elsewhere.get(line):
            return base.Verdict(False, 0.0, (self.fill(says, drawn),), mistake=base.mistake_key(says))
        return base.Verdict(False, 0.0, (translate("Line {line} is correct as written.", line=line),))

    def texts(self) -> Iterator[tuple[base.Where, str]]:
        """The sentences of bugs and of other lines, too."""
        yield from super().texts()
        yield from ((("bugs", index, "says"), bug.says) for index, bug in enumerate(self.bugs))
        yield from ((("elsewhere", line), says) for line, says in self.elsewhere.items())

    def untold(self) -> Iterator[tuple[base.Where, str]]:
        """The symptoms, which stand in the prompt."""
        yield from ((("bugs", n, "symptom"), bug.symptom) for n, bug in enumerate(self.bugs))

    def telling(self, seed: int) -> set[str]:
        """The number of the line."""
        return {f"line {self.bug(seed).line}"}

    async def prove_code(self, seeds: Sequence[int], runner: Runner) -> list[base.Finding]:
        """The right listing agrees with the reference, and each bug shows in a result."""
        entry = self._called
        try:
            calls = [call for seed in seeds for call in self.calls(entry, seed)]
        except ExpressionError as error:
            return [base.Finding(("reference",), str(error))]
        findings = []
        if self.mutate and len(self.bugs) >= _ENOUGH:
            says = f"{len(self.bugs)} bugs are listed: draw none by chance"
            findings.append(base.Finding(("mutate",), says, "remove it; listed ones teach more"))
        if disagreement := await self._disagreement(self.code, entry, calls, runner):
            findings.append(base.Finding(("code",), f"the right code fails: {disagreement}"))
        for line in mutation.dead_lines(self._right_listing):
            findings.append(base.Finding(("code",), f"line {line} changes no result", "remove it"))
        drawn = [self._bug_of(mutant) for mutant in self.mutants(0)] if self.mutate else []
        for index, bug in enumerate((*self.bugs, *drawn)):
            where = ("bugs", index) if index < len(self.bugs) else ("mutate",)
            source = "\n".join(self.listing(bug))
            if not await self._disagreement(source, entry, calls, runner):
                says = f"line {bug.line} changes no result"
                findings.append(base.Finding(where, says, "draw arguments that show it"))
            findings += self._prove_guilt(where, bug)
        return findings

    def _prove_guilt(self, where: base.Where, bug: Bug) -> Iterator[base.Finding]:
        """Only a fix of the line of *bug* helps, and its symptom says what happens."""
        wrong = replace(self._right_listing, lines=self.listing(bug))
        raises = mutation.effect_of(wrong).raises
        if raises and "raise" not in bug.symptom:
            yield base.Finding(where, f"raises {raises}, which its symptom does not say")
        if found := other_cure(wrong, bug.line, self.elsewhere):
            line, text = found
            says = f"line {line} could be fixed instead of line {bug.line}, as `{text}`"
            yield base.Finding(
                where, says, f"return what tells them apart (also), or quote `{text}` under elsewhere.{line}"
            )

    def notes(self) -> Iterator[str]:
        """The number of bugs that can be drawn from the listing, by what is changed."""
        if self.mutate:
            by = Counter(mutant.operator for mutant in self.mutants(0))
            parts = ", ".join(f"{name} {count}" for name, count in by.most_common())
            yield f"{by.total()} bugs can be drawn from the code ({parts})"

    async def _disagreement(self, source: str, entry: str, calls: Sequence[TrialCall], runner: Runner) -> str:
        """The first call whose result is not that of the reference; nothing if all agree."""
        report = await runner.run(source, entry, [call.arguments for call in calls])
        refuse_lost(report)
        if report.body:
            return str(report.body)
        for call, outcome in zip(calls, report.outcomes, strict=False):
            if not isinstance(outcome, CallReturned):
                return f"{call.text}: {outcome}"
            if not alike(outcome.value, call.expected):
                return f"{call.text} gives {round_result(outcome.value)}, not {round_result(call.expected)}"
        if len(report.outcomes) < len(calls):
            raise UnavailableError("the sandbox lost a run")
        return ""
