"""Guess the step: the same question everywhere, right by a second derivation, and never silly."""

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from itertools import islice
from math import ceil, sqrt

import pytest

from app.core.errors import AnswerError
from app.core.expressions import evaluate
from app.core.folders import ROOT
from app.core.formulas import FORMULAS
from app.course.content.catalog import Catalog
from app.course.content.daily import DailyQuestion, cases, daily_title, question_of, written_questions
from app.course.explorers import EXPLORERS
from app.course.kinds.drawn_values import Draw, draw
from app.course.kinds.numeric import Numeric
from tests.each import each

DAY = date(2026, 11, 22)
DAYS = 1000
NAMES = list(written_questions())
YEAR, HOUR, KWH = 365 * 24 * 3600.0, 3600.0, 3.6e6


class Given(dict[str, float]):
    """Drawn values in base units, as attributes."""

    def __getattr__(self, name: str) -> float:
        return self[name]


def step_flops(v: Given) -> float:
    return 6 * v.parameters * v.batch * 1e6


# The answers again, with a pencil and not with the formulas of the course.
PENCIL: Mapping[str, Callable[[Given], float]] = {
    "ring-all-reduce": lambda v: 2 * v.size * (v.ranks - 1) / v.ranks / v.bandwidth,
    "latency-of-a-ring": lambda v: 2 * (v.ranks - 1) * (v.latency + v.size / v.ranks / v.bandwidth),
    "all-to-all": lambda v: v.size * (v.ranks - 1) / v.ranks / v.bandwidth,
    "through-the-root": lambda v: 2 * v.size * (v.ranks - 1),
    "nodes-first": lambda v: 2 * v.size * 7 / 8 / v.inside + 2 * v.size / 8 * (v.nodes - 1) / v.nodes / v.between,
    "stage-one": lambda v: (4 + 12 / v.ranks) * v.parameters,
    "stage-three": lambda v: 16 * v.parameters / v.ranks,
    "redundant-copies": lambda v: 16 * v.parameters * (v.ranks - 1),
    "fewest-gpus": lambda v: ceil(16 * v.parameters / (v.memory - v.reserved)),
    "largest-model": lambda v: v.ranks * (v.memory - v.reserved) // 16,
    "traffic-of-stage-three": lambda v: 3 * 2 * v.parameters * (v.ranks - 1) / v.ranks,
    "activations-of-a-layer": lambda v: v.sequence * v.batch * (34 * v.hidden + 5 * v.heads * v.sequence),
    "accumulated-step": lambda v: v.count * v["pass"] + v.reduce,
    "saved-by-accumulating": lambda v: (v.count - 1) * v.reduce,
    "tokens-of-a-step": lambda v: v.ranks * v.count * v.micro * v.length,
    "sticking-out": lambda v: max(v.compute + v.layers * v.reduce - v.layers * v.compute, v.reduce),
    "tokens-to-hide": lambda v: v.gather * v.rate / (2 * v.parameters),
    "serial-share": lambda v: 1 / (v.serial + (1 - v.serial) / v.ranks),
    "idle-in-a-pipeline": lambda v: (v.stages - 1) * 3 * v.forward,
    "pipelined-step": lambda v: (v.count + v.stages - 1) * 3 * v.forward,
    "enough-microbatches": lambda v: ceil(round((v.stages - 1) / v.limit - (v.stages - 1), 6)),
    "held-in-flight": lambda v: v.stages * v.size,
    "between-stages": lambda v: 2 * v.count * (v.stages - 1) * v.size,
    "tensor-traffic": lambda v: 4 * v.layers * 2 * (v.ranks - 1) / v.ranks * v.size,
    "size-of-an-activation": lambda v: 2 * v.batch * v.length * v.hidden,
    "tokens-to-experts": lambda v: 2 * v.tokens * v.top * v.hidden * (v.ranks - 1) / v.ranks,
    "writing-a-checkpoint": lambda v: 14 * v.parameters / (v.writers * v.bandwidth),
    "how-often-it-stops": lambda v: v.life * YEAR / v.gpus,
    "best-interval": lambda v: sqrt(2 * v.cost * v.mtbf),
    "price-of-a-failure": lambda v: v.gpus * v.price * (v.interval / 2 + v.restart),
    "failures-of-a-run": lambda v: v.gpus * v.days / (v.life * 365),
    "days-of-a-run": lambda v: 6 * v.parameters * v.tokens / (v.gpus * v.peak * v.mfu),
    "size-of-a-run": lambda v: 6 * v.parameters * v.tokens,
    "rent-of-a-run": lambda v: v.gpus * v.days * 24 * HOUR * v.price,
    "energy-of-a-run": lambda v: v.gpus * v.watts * v.days * 24 * HOUR * (1 + v.more),
    "speed-of-a-cluster": lambda v: v.gpus * v.peak * v.mfu / (6 * v.parameters),
    "time-of-a-step": lambda v: step_flops(v) / (v.gpus * 989e12 * v.mfu),
    "cache-of-a-context": lambda v: v.tokens * 2 * v.layers * v.heads * 128 * 2,
    "unfused-attention": lambda v: 2 * (4 * v.tokens * v.size + 4 * v.tokens**2),
    "matrix-product": lambda v: max(
        2 * v.m * v.n * v.k / v.peak, 2 * (v.m * v.n + v.n * v.k + v.m * v.k) / v.bandwidth
    ),
    "parameters-of-a-layer": lambda v: (
        2 * v.hidden * 128 * (v.heads + v.shared) + 3 * v.hidden * v.inner + 2 * v.hidden
    ),
    "reading-a-prompt": lambda v: 2 * v.parameters * v.tokens / (v.gpus * v.mfu * 989e12),
    "worth-of-utilization": lambda v: v.price * 1e6 * (1 - v.before / v.after),
}


def drawings(name: str) -> list[Draw]:
    return [draw(0, {}, [case], written_questions()[name].let, "") for case in cases(name)]


def days(count: int) -> list[DailyQuestion]:
    return [question_of(DAY + timedelta(n)) for n in range(count)]


@each("name", NAMES)
def test_every_answer_is_that_of_a_pencil(name: str) -> None:
    written = written_questions()[name]
    assert len(drawings(name)) >= 30
    for drawn in drawings(name):
        given = Given({key: quantity.value for key, quantity in drawn.names.items()})
        right = evaluate(written.answer, drawn.names).value
        assert right == pytest.approx(PENCIL[name](given), rel=1e-9), drawn.shown


def test_a_thousand_days_are_solvable_and_none_is_silly() -> None:
    for question in days(DAYS):
        shown = question.shown(question.right)
        # The reader of answers understands what the page says.
        assert question.read(shown) == pytest.approx(question.right, rel=1e-3), shown
        number = re.match(r"\$?([\d,]+(?:\.\d+)?)", shown)
        assert number, shown
        assert 0.15 <= float(number[1].replace(",", "")) < 1e6, (question.title, shown)
        assert len(number[1]) <= 8, shown
        assert "e" not in shown.split()[0]
        assert not re.search(r"[{}|]", question.asks + question.why)
        assert not re.search(r"\de\d", question.asks), question.asks
        assert shown in question.why, shown
        assert question.asks.endswith("?") or "(a petaFLOP" in question.asks


def test_no_question_comes_again_for_years_and_neighbors_differ() -> None:
    asked = days(DAYS)
    assert len({question.key for question in asked}) == DAYS
    assert len({question.asks for question in asked}) == DAYS
    titles = [question.title for question in asked]
    assert titles == [daily_title(question.day) for question in asked]
    for start in range(0, DAYS - len(NAMES), 97):
        assert len(set(titles[start : start + len(NAMES)])) == len(NAMES)
    week = [question.exercise.partition("/")[0] for question in islice(asked, 7)]
    assert len(set(week)) >= 5


def test_two_processes_ask_the_same() -> None:
    code = (
        "from datetime import date, timedelta\nfrom app.course.content.daily import question_of\n"
        f"day = date({DAY.year}, {DAY.month}, {DAY.day})\n"
        "for n in range(50):\n    q = question_of(day + timedelta(n)); print(q.key, q.right)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines() == [f"{one.key} {one.right}" for one in days(50)]


@each("name", NAMES)
def test_a_question_leads_on_and_gives_no_variant_of_an_exercise_away(catalog: Catalog, name: str) -> None:
    written = written_questions()[name]
    assert written.explorer in EXPLORERS
    exercise = catalog.exercise(written.exercise)
    if not isinstance(exercise, Numeric):
        return
    variants = [(exercise.draw(seed).names.values(), exercise.keys(seed)) for seed in range(30)]
    for drawn in drawings(name):
        told = evaluate(written.answer, drawn.names).value
        numbers = {drawn.names[key] for key in written.given}
        for known, keys in variants:
            same = numbers <= set(known)
            assert not (same and any(k.low <= told <= k.high for k in keys.values())), drawn.shown


def test_formulas_are_those_of_the_course() -> None:
    for question in days(len(NAMES)):
        assert question.formulas
        assert set(question.formulas) <= set(FORMULAS)


@each("text", ["", "  ", "0", "-3", "1e999", "nan", "∞", "3 \0", "7 parsec", "1e308*10", "9" * 300])
def test_a_guess_that_is_not_a_positive_number_is_refused(text: str) -> None:
    for question in days(3):
        with pytest.raises(AnswerError):
            question.read(text)
