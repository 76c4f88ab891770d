"""Numbers as an engineer writes them, in every text of every drawing of the course."""

import re
from collections.abc import Iterator

import pytest

from app.authoring.texts import distinct
from app.core.expressions import ExpressionError, evaluate, fill, slots
from app.core.translation import LANGUAGES, SOURCE, speaking
from app.core.units.scales import SCALES, singular
from app.course.content.catalog import Catalog
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer
from app.course.kinds import Exercise
from app.course.kinds.code.function import Function
from app.course.kinds.drawn_values import Draw
from app.course.kinds.numeric import QuantityExercise

SEEDS = range(60)
SLACK = 1e-9  # of what floating-point numbers leave of a whole number
_PLURALS = "|".join(sorted({re.escape(w) for w in SCALES if singular(w) != w and w.isascii() and len(w) > 3}))
_CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`]*`", re.DOTALL)
_MATHEMATICS = re.compile(r"\$\$.*?\$\$|(?<![\d\\])\$(?!\s)(?:[^$\n]|\n(?!\s*\n))+?(?<![\s\\])\$(?!\d)", re.DOTALL)
FAULTS = {
    "a sum of money before its sign": re.compile(r"\d ?\$(?!\d)|\d ?USD\b"),
    "a sign of money before a space": re.compile(r"\$ \d"),
    "cents of one figure": re.compile(r"\$\d[\d,]*\.\d(?!\d)(?! (?:m|b|tr)illion| Mio| Mrd)"),
    "millions of dollars in figures": re.compile(r"\$\d{1,3}(?:,\d{3}){2,}"),
    "us": re.compile(r"\d ?us\b|\bin us\b"),
    "no separator": re.compile(
        r"(?<![\w.,#/^=:-])\d{5,}(?![\d.,]*\w)|(?<![\w.,#/^-])\d{4,}(?:\.\d+)? ?"
        r"(?:[kMGTPE]i?B|[kMGTP]?B/s|[GTPE]?FLOP(?:/s|/B)?|[nµm]?s|k?W|h|tokens|GPUs)\b"
    ),
    "thousands of thousands": re.compile(r"\d,\d{3}(?:\.\d+)? (?:thousand|million|billion|trillion)\b"),
    "a power of ten for a number below a trillion": re.compile(r"(?<![\w.])\d(?:\.\d+)?e(?:\d|1[01])\b"),
    "one of a plural": re.compile(
        rf"(?<![\d.,/^=·+−–-])(?<![\d.,/^=·+−–-] )\b1\**[ -](?:of the |[a-z]+-[a-z]+ )?(?:{_PLURALS})\b"
    ),
    "a count with a decimal": re.compile(rf"\d\.0\**[ -](?:{_PLURALS})\b"),
    "a brace": re.compile(r"(?<!\\)\{[a-z_]\w*(?:\}| \|)"),
}
IN_CODE = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)")
IN_LIST = re.compile(rf"\[[^\[\]]*?{IN_CODE.pattern}[^\[\]]*?\]")


def texts(exercise: Exercise, seed: int) -> Iterator[str]:
    """Every text of a drawing that a student may see."""
    drawn = exercise.solved(exercise.draw(seed))
    yield exercise.title
    yield from (exercise.fill(text, drawn) for _, text in exercise.texts())
    yield exercise.fill(exercise.solution, drawn)
    yield exercise.reveal(seed)
    yield from drawn.shown.values()
    if isinstance(exercise, QuantityExercise):
        for key in exercise.keys(seed).values():
            yield key.praise()
            yield from (key.asked.shown(value) for value, _ in key.mistakes)
        yield from (box.unit for box in exercise.boxes(seed))


def prose(text: str) -> str:
    """*text* without code and mathematics."""
    return _MATHEMATICS.sub(" … ", _CODE.sub(" … ", text))


def faults(text: str) -> Iterator[str]:
    """What an engineer would not write in *text*."""
    shown = prose(text)
    for name, pattern in FAULTS.items():
        if found := pattern.search(shown):
            yield f"{name}: {shown[max(0, found.start() - 40) : found.end() + 20]!r}"
    for code in _CODE.findall(text):
        if found := IN_LIST.search(code):
            yield f"a separator in code: {code[max(0, found.start() - 40) : found.end() + 20]!r}"


def faults_of(exercise: Exercise, seeds: Iterator[int]) -> Iterator[str]:
    """The faults in the drawings of an exercise, each once."""
    seen = set()
    for seed in seeds:
        for text in texts(exercise, seed):
            if text not in seen:
                seen.add(text)
                yield from (f"{exercise.id}, seed {seed}: {one}" for one in faults(text))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("It costs 2.5 $ an hour.", "a sum of money before its sign"),
        ("It costs 2.5 $/h.", "a sum of money before its sign"),
        ("Pay $ 5.", "a sign of money before a space"),
        ("At $2.5/h each.", "cents of one figure"),
        ("Right: $61,660,000.", "millions of dollars in figures"),
        ("Latency of 5 us.", "us"),
        ("It moves 8000 GB/s.", "no separator"),
        ("There are 33333 GPUs.", "no separator"),
        ("It reads 16,400 billion tokens.", "thousands of thousands"),
        ("A layer has 3.221e9 parameters.", "a power of ten for a number below a trillion"),
        ("A trace of 1 steps.", "one of a plural"),
        ("over **1 sequences**", "one of a plural"),
        ("Time over 1 of the cards.", "one of a plural"),
        ("holds **1** key-value heads", "one of a plural"),
        ("That takes 64.0 steps.", "a count with a decimal"),
        ("It needs {memory | GB}.", "a brace"),
        ("Returns `[1e-5, 50,000,000,000]`.", "a separator in code"),
    ],
)
def test_each_fault_is_seen(text: str, fault: str) -> None:
    assert [found.partition(":")[0] for found in faults(text)] == [fault]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $2.50/h, and $61.7 million in all: 33,333 GPU-hours.",
        "Both phases take N − 1 steps; the last 1 + 1 steps are free.",
        "A rate of 3e-4, a gradient of $10^{5}$ and $x_{10000}$, arXiv:2404.10102, `[8192, 1e-5]`.",
        "Fetch 2 times 1 step, 1.1 tokens and 11 steps.",
    ],
)
def test_what_an_engineer_writes_has_no_faults(text: str) -> None:
    assert list(faults(text)) == []


@pytest.mark.sweep
def test_numbers_are_written_as_an_engineer_writes_them(catalog: Catalog) -> None:
    found = [one for exercise in catalog.exercises for one in faults_of(exercise, distinct(exercise, SEEDS))]
    assert not found, "\n".join(found)


@pytest.mark.sweep
@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != SOURCE])
def test_numbers_of_translated_texts_are_written_so_too(catalog: Catalog, code: str) -> None:
    spoken = [one for one in catalog.spoken(code).exercises if one.language == code]
    with speaking(code):
        found = [one for each in spoken for one in faults_of(each, distinct(each, SEEDS))]
    assert not found, "\n".join(found)


def test_numbers_of_chapters_are_written_so_too(catalog: Catalog) -> None:
    found = [
        f"{topic.id}: {one}"
        for spoken in (catalog, *(catalog.spoken(code) for code in LANGUAGES if code != SOURCE))
        for topic in spoken.topics
        for text in (topic.summary, topic.opening, topic.closing, *(fact.says for fact in topic.facts))
        for one in faults(text)
        if topic.language != "de" or not one.startswith("a sum of money before its sign")
    ]
    assert not found, "\n".join(found)


def test_numbers_of_explorers_are_written_so_too() -> None:
    found = [f"{name}: {one}" for name in EXPLORERS for text in explored_texts(name) for one in faults(text)]
    assert not found, "\n".join(found)


def explored_texts(name: str) -> Iterator[str]:
    """The sentences and key figures of an explorer as it opens."""
    shown = open_explorer(EXPLORERS, name, {}).shown
    yield shown.says
    yield from (str(fact.value) for fact in shown.facts)


def test_programs_are_shown_with_numbers_that_python_reads(catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        if isinstance(exercise, Function):
            for example in exercise.question(0).examples:
                assert not IN_CODE.search(example.expected), (exercise.id, example)
                assert not re.search(r"\d\.0\b", example.expected), (exercise.id, example)


@pytest.mark.sweep
def test_a_value_is_shown_with_the_digits_that_round_it(catalog: Catalog) -> None:
    """459.05 is not shown as 459 where 460, the next whole number, is right."""
    found = [
        f"{exercise.id}, seed {seed}: {one}"
        for exercise in catalog.exercises
        if isinstance(exercise, QuantityExercise)
        for seed in distinct(exercise, SEEDS)
        for one in cut_values(exercise, exercise.solved(exercise.draw(seed)))
    ]
    assert not found, "\n".join(found)


def cut_values(exercise: QuantityExercise, drawn: Draw) -> Iterator[str]:
    """The slots of the solution and the hints that show a whole number next to an exact answer."""
    rounded = {
        key.right / key.asked.scale.factor
        for key in exercise.keys(drawn.seed).values()
        if key.asked.tolerance == "exact"
    }
    for text in (exercise.solution, *exercise.hints):
        for slot, shown in shown_slots(text, drawn):
            value = float(evaluate(slot, drawn.names).value)
            if abs(value - round(value)) > SLACK * abs(value) and any(
                0 < abs(shown - right) <= 1 > abs(value - right) for right in rounded
            ):
                yield f"{slot} is {value} and shown as {shown:g}"


def shown_slots(text: str, drawn: Draw) -> Iterator[tuple[str, float]]:
    """The slots of *text* that show a whole number, and that number."""
    for slot, form in re.findall(r"(?<!\{)\{([^{}|]+)(\|[^{}]+)?\}", text):
        try:
            shown = fill(f"{{{slot}{form}}}", drawn.names, drawn.shown).replace(",", "")
        except ExpressionError:
            continue
        if slot.strip() in slots(text) and shown.isdigit():
            yield slot.strip(), float(shown)
