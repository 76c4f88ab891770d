"""What runs inside the component, run here: values as JSON, and the replies about a program."""

import io
import json
import sys
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.course.sandbox.component import _HERE
from app.course.sandbox.guest.codec import decode, encode
from app.course.sandbox.process import Plain
from tests.each import each

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.integers() | st.floats(allow_nan=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
LARGEST = 16**3570 - 1  # of as many hexadecimal digits as may be written


@given(PLAIN)
def test_plain_values_come_back_the_same(value: Plain) -> None:
    assert decode(encode(value)) == value
    assert repr(decode(encode(value))) == repr(value)


@each(
    "value",
    [LARGEST, -(LARGEST // 16), {1, 2}, 1 - 2j, set(range(1000)), dict.fromkeys(range(1000)), list(range(20_000))],
)
def test_what_is_as_large_as_may_be_comes_back(value: Plain) -> None:
    assert decode(json.loads(json.dumps(encode(value)))) == value


Pair = namedtuple("Pair", "a b")


class Color(IntEnum):
    RED = 3


class Name(str):
    pass


@each(
    ("value", "tree"),
    [
        (2**53 - 1, 2**53 - 1),
        (2**53, {"int": "20000000000000"}),
        (1 - 2**53, 1 - 2**53),
        (-(2**53), {"int": "-20000000000000"}),
        (True, True),
        (0.5, {"float": "0.5"}),
        (1 - 2j, {"complex": ["1.0", "-2.0"]}),
        ((1,), {"tuple": [1]}),
        (frozenset([4]), {"set": [4]}),
        ({"a": [2]}, {"dict": [["a", [2]]]}),
        (Pair(1, 2), {"tuple": [1, 2]}),
        (Color.RED, 3),
        (Name("x"), "x"),
        (OrderedDict(a=1), {"dict": [["a", 1]]}),
        (Fraction(4, 2), 2),
        (Fraction(1, 4), {"float": "0.25"}),
        (Decimal("1.5"), {"float": "1.5"}),
        (range(3), [0, 1, 2]),
        ((n for n in "ab"), ["a", "b"]),
    ],
)
def test_a_value_is_written_as_what_it_stands_for(value: object, tree: object) -> None:
    assert encode(value) == tree
    assert type(encode(value)) is type(tree)


def nested(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value]
    return value


def test_a_value_has_at_most_20_levels_both_ways() -> None:
    for nest in (lambda part: [part], lambda part: (part,), lambda part: {0: part}):
        value: object = 1
        for _ in range(20):
            value = nest(value)
        assert decode(encode(value)) == value
        with pytest.raises(ValueError, match="too deeply"):
            encode(nest(value))
    assert decode(nested(20)) == nested(20)
    with pytest.raises(ValueError, match="too deeply"):
        decode(nested(21))
    hidden: object = 1
    for _ in range(21):
        hidden = {"tuple": [hidden]}
    with pytest.raises(ValueError, match="too deeply"):
        decode(hidden)


@each(
    ("value", "says"),
    [
        (LARGEST + 1, "too large"),
        (set(range(1001)), "a set of more than 1,000"),
        (dict.fromkeys(range(1001)), "a dict of more than 1,000"),
        (range(10_001), "a range of more than 10,000"),
        (object(), "a object cannot be checked"),
    ],
)
def test_what_cannot_be_checked_is_named(value: object, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        encode(value)


def test_a_generator_may_have_10_000_elements() -> None:
    assert encode(iter(range(10_000))) == list(range(10_000))


@each(
    "tree",
    [
        {"float": [1]},
        {"int": "zz"},
        {"int": "-" + "1" * 3571},
        {"float": "1" * 3572},
        {"x": 1},
        {"x": []},
        {"tuple": 1},
        {"dict": [[1]]},
        {"dict": [[1, 2, 3]]},
        {"dict": [[1, 2], 3]},
        {"dict": [[[1], 2]]},
        {"dict": [[n, n] for n in range(1001)]},
        {"set": [[1]]},
        {"set": list(range(1001))},
        {"complex": ["1"]},
        {"complex": ["1", "2", "3"]},
        {"complex": ["1", 2]},
        {"int": "1", "float": "1"},
        {},
        1.5,
    ],
)
def test_trees_that_encode_never_makes_are_refused(tree: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(tree)


def test_half_a_character_is_replaced() -> None:
    assert decode("a\ud800") == "a?"


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module that runs programs; it takes the streams of the process that it is in."""
    for name in ("stdout", "stderr", "stdin"):
        monkeypatch.setattr(sys, name, io.StringIO())
    monkeypatch.syspath_prepend(_HERE / "guest")
    module = import_module("running")
    yield module
    module.forget()


def loaded(running: ModuleType, source: str) -> tuple[dict[str, object], str]:
    inner, printed = json.loads(running.load({"source": source, "entry": "f"}))
    return json.loads(inner), printed


def called(running: ModuleType, *arguments: Plain) -> tuple[dict[str, object], str]:
    inner, printed = json.loads(running.call([encode(one) for one in arguments]))
    return json.loads(inner), printed


def test_a_program_is_loaded_and_each_call_has_what_it_printed(running: ModuleType) -> None:
    assert loaded(running, "print('body', __name__)\ndef f(a, b=2):\n    print(a)\n    return (a, b)\n") == (
        {},
        "body solution\n",
    )
    assert called(running, 1.5) == ({"value": {"tuple": [{"float": "1.5"}, 2]}}, "1.5\n")
    assert called(running, "x", "y") == ({"value": {"tuple": ["x", "y"]}}, "x\n")
    assert called(running)[0] == {"raised": ["TypeError", "f() missing 1 required positional argument: 'a'", None]}


@each(
    ("source", "raised"),
    [
        ("def g(): pass", ["Missing", "no function called f is defined", None]),
        ("f = 3", ["Missing", "no function called f is defined", None]),
        ("x = 1\n\ny = x / 0\n", ["ZeroDivisionError", "division by zero", 3]),
        ("x = 1\ny = (", ["SyntaxError", "'(' was never closed", 2]),
        (
            "import json\n\njson.loads('{')",
            ["JSONDecodeError", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", 3],
        ),
        ("\nraise SystemExit(2)", ["SystemExit", "2", 2]),
        ("raise ValueError('x' * 301)", ["ValueError", "x" * 300, 1]),
        ("class A(Exception):\n    def __str__(self): 1 / 0\nraise A", ["A", "", 3]),
        ("raise type('A' * 81, (Exception,), {})('no')", ["A" * 80, "no", 1]),
    ],
)
def test_an_error_of_the_body_has_its_type_message_and_line(
    running: ModuleType, source: str, raised: list[object]
) -> None:
    assert loaded(running, source)[0] == {"raised": raised}


def test_an_error_of_a_call_is_at_the_innermost_line_of_the_program(running: ModuleType) -> None:
    loaded(running, "def g(x):\n    return 1 / x\n\ndef f(x):\n    return g(x)\n")
    assert called(running, 0) == ({"raised": ["ZeroDivisionError", "division by zero", 2]}, "")
    assert called(running, 1) == ({"value": {"float": "1.0"}}, "")


def test_a_program_prints_16_000_characters_over_all_calls(running: ModuleType) -> None:
    cut = "\n... cut: a program may print 16 kB\n"
    loaded(running, "def f(n):\n    print('x' * n, end='')\n")
    assert called(running, 15_000)[1] == "x" * 15_000
    assert called(running, 1000)[1] == "x" * 1000
    assert called(running, 1)[1] == ""
    loaded(running, "def f(n):\n    print('x' * n, end='')\n")
    assert called(running, 16_001)[1] == "x" * 16_000 + cut
    assert called(running, 5)[1] == ""


def test_a_value_of_more_than_64_000_characters_is_too_large(running: ModuleType) -> None:
    frame = len(json.dumps({"value": ""}))
    loaded(running, "def f(n):\n    return 'x' * n\n")
    assert called(running, 64_000 - frame)[0] == {"value": "x" * (64_000 - frame)}
    assert called(running, 64_001 - frame)[0] == {"stopped": "too large"}
