"""The small interpreter of listings against Python itself."""

import ast
import math

import pytest

from app.course.content.catalog import Catalog
from app.course.kinds.code.buggy_line import BuggyLine, other_cure, symptom_of
from app.course.kinds.code.calls import function_in
from app.course.kinds.code.interpreter import CompiledListing, FailedError, ListingError
from app.course.kinds.code.mutation import Effect, Listing, dead_lines
from app.course.sandbox.process import Plain
from tests.each import each
from tests.kinds.test_mutation import CALLS

SEEDS = range(400)
NAMES = (
    "accumulation/a-gradient-off", "accumulation/a-mean-of-means", "checkpoints/a-waste-estimate",
    "collectives/estimate-off-by-a-factor", "meshes/a-check-that-forgets",
    "kernels/a-sampler-that-repeats", "optimizers/a-norm-of-parts", "overlap/a-hook-that-waits",
    "pipelines/fraction-line", "precision/scales-from-memory", "rl/a-loss-that-drifts",
)  # fmt: skip


def in_python(code: str, entry: str, arguments: tuple[Plain, ...]) -> object:
    """What Python makes of a call of our own listing: its value, or the name of what it raises."""
    names: dict[str, object] = {}
    exec(code, names)
    function = names[entry]
    assert callable(function)
    try:
        return function(*arguments)
    except Exception as error:  # noqa: BLE001 - whichever it is, it is compared
        return type(error).__name__


def in_listing(code: str, entry: str, arguments: tuple[Plain, ...]) -> object:
    try:
        return CompiledListing(ast.parse(code), entry).run(arguments)
    except FailedError as error:
        return error.kind


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other


def buggy(catalog: Catalog, name: str) -> BuggyLine:
    exercise = catalog.exercise(name)
    assert isinstance(exercise, BuggyLine)
    return exercise


def test_these_are_all_exercises_with_a_buggy_line(catalog: Catalog) -> None:
    assert {one.id for one in catalog.exercises if isinstance(one, BuggyLine)} == set(NAMES)


@each("name", NAMES)
def test_every_drawn_listing_does_what_python_does_and_its_symptom_says_so(catalog: Catalog, name: str) -> None:
    exercise = buggy(catalog, name)
    entry = function_in(exercise.code)
    calls = exercise.calls(entry, 0)
    bugs = {(bug.line, bug.shown): bug for bug in map(exercise.bug, SEEDS)}
    assert len(bugs) > 3
    for bug in bugs.values():
        code = "\n".join(exercise.listing(bug))
        found = [in_python(code, entry, call.arguments) for call in calls]
        ours = [in_listing(code, entry, call.arguments) for call in calls]
        assert all(map(same, found, ours)), (code, found, ours)
        raised = {value for value in found if isinstance(value, str)}
        assert bool(raised) == ("raises" in bug.symptom), (code, bug.symptom)
        assert all(kind in bug.symptom for kind in raised)
        assert ("wrong sign" in bug.symptom) <= all(
            isinstance(value, int | float) and value * float(str(call.expected)) < 0
            for value, call in zip(found, calls, strict=True)
        )
        assert ("as 0" in bug.symptom) <= all(value == 0 for value in found)


HEAD = "import math\nfrom math import ceil\n"


@each(
    "body",
    [
        "for i in range(b):\n        a = a + i\n    return a",
        "for i in range(a, 2, -b):\n        a = i\n    return a",
        "for i in range(b, a, 0):\n        a = i\n    return a",
        "for i in a:\n        b = i\n    return b",
        "x = [a, b]\n    return x[b]",
        "x = [a, b]\n    return x[1]",
        "x = [a, b]\n    return x[9]",
        "return a[0]",
        "return a or b",
        "return a - a and b",
        "return not a",
        "return -(a - a) / b",
        "return a / (b - b)",
        "return a // (b - b)",
        "return a % b ** 2",
        "return 0 ** -b",
        "return a ** -b",
        "return 2 ** b",
        "return math.sqrt(b - a - a)",
        "return math.log2(a - a)",
        "return ceil(a / b) + math.floor(a / b)",
        "return max(a, b) - min([a, b]) + abs(-a) + len([a]) + sum([a, b])",
        "return max(a)",
        "return sum(a)",
        "return len(a)",
        "return (a, b)",
        "y = y + a\n    return y",
        "y += a\n    return y",
        "a -= b\n    return a",
        "a /= b\n    b **= a\n    return a // b",
        "a = b = 2\n    return a",
        "if a > b:\n        z = a\n    return z",
        "return nowhere",
        "return a(b)",
        "pass",
        "return a if a > b else b",
        "return [a, [b]]",
        "return [a] < 5",
        "range = 5\n    for i in range(3):\n        a = i\n    return a",
    ],
)
@each("arguments", [(5, 3), (2.5, 2), (3, 2.5), (7, 1)])
def test_what_is_not_refused_does_what_python_does(body: str, arguments: tuple[Plain, ...]) -> None:
    code = f"{HEAD}def f(a, b):\n    {body}\n"
    try:
        ours = in_listing(code, "f", arguments)
    except ListingError:
        return  # refused, and so never drawn
    assert same(in_python(code, "f", arguments), ours)


@each("arguments", [(), (1,), (1, 2), (1, 2, 3)])
def test_arguments_are_counted_as_in_python(arguments: tuple[Plain, ...]) -> None:
    code = "def f(a, b=4):\n    return a + b\n"
    assert same(in_python(code, "f", arguments), in_listing(code, "f", arguments))


def test_the_function_that_is_named_is_run() -> None:
    code = "def g(a):\n    return 1\ndef f(a):\n    return 2\n"
    assert CompiledListing(ast.parse(code), "f").run((0,)) == 2
    assert CompiledListing(ast.parse(code)).run((0,)) == 1


@each(
    "code",
    [
        "X = 3\ndef f(a):\n    return a + X",
        "def f(*a):\n    return a",
        "def f(a):\n    for i in [1]:\n        a = i\n    else:\n        a = 9\n    return a",
        "def f(a):\n    return (0 - 8) ** 0.5",
    ],
)
def test_what_would_not_be_python_is_refused(code: str) -> None:
    with pytest.raises(ListingError) as raised:
        CompiledListing(ast.parse(code)).run((5,))
    assert not isinstance(raised.value, FailedError)


OLD = """\
def total(size, n, bw):
    whole = 2 * size * (n - 1) / n
    steps = 2 * (n - 1)
    chunk = size / n
    return steps * chunk / bw
"""


def test_a_line_that_does_nothing_and_a_second_cure_are_found(catalog: Catalog) -> None:
    right = Listing(OLD.splitlines(), "total", CALLS)
    assert dead_lines(right) == [2]
    wrong = Listing(OLD.replace("2 * (n - 1)\n", "2 * n\n").splitlines(), "total", CALLS)
    found = other_cure(wrong, 3, {})
    assert found is not None
    assert found[0] == 4
    for name in NAMES:
        assert dead_lines(buggy(catalog, name)._right_listing) == []


@each(
    ("effect", "says"),
    [
        (Effect(ratio=0.0), "comes out as 0"),
        (Effect(ratio=-1.0), "comes out with the wrong sign"),
        (Effect(ratio=-0.5), "comes out with the wrong sign and at 0.5 of the right size"),
        (Effect(ratio=2.0), "comes out 2 times too large"),
        (Effect(ratio=0.25), "comes out at 0.25 of the right value"),
        (Effect(lean="small"), "comes out too small"),
        (Effect(raises="TypeError"), "raises a TypeError"),
        (Effect(raises="IndexError", always=False), "raises an IndexError for some arguments"),
        (Effect(), "comes out wrong"),
    ],
)
def test_a_symptom_is_told_as_it_is(effect: Effect, says: str) -> None:
    assert symptom_of(effect) == says
