"""Files that were changed in their structure: mixed, cut, doubled, prefixed, wrapped, renamed."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from app.core.measurements.logs.families import LOG_FAMILIES
from app.core.measurements.published import published_logs, published_tests, text_of
from app.core.measurements.readers import TEXT_READERS

FOREIGN = Path(__file__).parent / "foreign"
Mutation = Callable[[str, random.Random], str]
_PREFIXES = (
    "0: ", "{rank}: ", "[1,{rank}]<stdout>:", "[rank{rank}]: ", "[default{rank}]:", "> ", "    ",
    "2026-05-01T07:03:11.123Z ", "2026-05-01 07:03:11,123 INFO ", "{number}\t", "{number}: ", "| ",
    "(worker pid=4711) ", "node{rank}: ", "[pod/trainer-0/main] ", "+ ",
)  # fmt: skip
_NAMES = ("alpha", "beta", "x", "ms", "gpu", "total", "#", "K", "size", "step", "loss")


@cache
def samples() -> Mapping[str, str]:
    """A text of every family, of every reader, of the files of others, and what is published."""
    found = {f"{one.name}, {one.rank}": one.sample for one in LOG_FAMILIES}
    found |= {reader.__name__: reader.sample for reader in TEXT_READERS}
    found |= {path.name: path.read_text() for path in FOREIGN.glob("*.*") if path.suffix != ".md"}
    found |= {name: text_of(name) for name in (*published_tests(), *published_logs())}
    return found


def cut(text: str, dice: random.Random) -> str:
    """A part of it: from the beginning, to the end, or without lines in the middle."""
    first, last = sorted(dice.randrange(len(text) + 1) for _ in range(2))
    match dice.randrange(3):
        case 0:
            return text[:last]
        case 1:
            return text[first:]
        case _:
            lines = text.splitlines(keepends=True)
            first, last = sorted(dice.randrange(len(lines) + 1) for _ in range(2))
            return "".join([*lines[:first], *lines[last:]])


def double(text: str, dice: random.Random) -> str:
    """A line, some lines or all of it twice: in a row, or once more at the end."""
    lines = text.splitlines(keepends=True)
    first = dice.randrange(len(lines))
    last = dice.choice([first + 1, dice.randrange(first, len(lines)) + 1, len(lines)])
    if dice.randrange(2):
        return "".join([*lines[:last], *lines[first:last], *lines[last:]])
    return "".join([*lines, "" if text.endswith("\n") else "\n", *lines[first:last]])


def prefix(text: str, dice: random.Random) -> str:
    """Every line behind what a launcher, a container or a page writes before it."""
    form, ranks = dice.choice(_PREFIXES), dice.choice([1, 1, 8])
    return "\n".join(
        form.format(rank=number % ranks, number=number) + line for number, line in enumerate(text.splitlines(), 1)
    )


def wrap(text: str, dice: random.Random) -> str:
    """Lines that a terminal or a page has broken: anywhere, or between words."""
    width = dice.choice([40, 60, 79, 80, 100, 120, 132, 160])
    if dice.randrange(2):
        pieces = (line[i : i + width] for line in text.splitlines() for i in range(0, len(line) or 1, width))
        return "\n".join(pieces) + "\n"
    indent = dice.choice(["", "  "])
    found = []
    for line in text.splitlines():
        words = re.sub(r"(?<=\S) ", "\n", line)
        found.append(_filled(words.split("\n"), width, indent))
    return "\n".join(found) + "\n"


def _filled(words: Sequence[str], width: int, indent: str) -> str:
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) >= width:
            lines.append(indent + word)
        else:
            lines[-1] += f" {word}"
    return "\n".join(lines)


def rename(text: str, dice: random.Random) -> str:
    """A word of it with another name everywhere, or the letters of one in another case."""
    words = sorted(set(re.findall(r"[A-Za-z_#]{2,}", text)))
    if not words:
        return text
    word = dice.choice(words)
    other = dice.choice([*_NAMES, word.upper(), word[::-1], word[:-1], ""])
    return re.sub(rf"(?<![A-Za-z_#]){re.escape(word)}(?![A-Za-z_#])", other, text)


def mix(text: str, other: str, dice: random.Random) -> str:
    """Two texts: one behind the other, or their lines in turn."""
    if dice.randrange(2):
        return text.rstrip("\n") + "\n" + other
    one, two = text.splitlines(), other.splitlines()
    found = []
    while one or two:
        source = one if one and (not two or dice.randrange(2)) else two
        found.append(source.pop(0))
    return "\n".join(found) + "\n"


MUTATIONS: Mapping[str, Mutation] = {
    "cut": cut, "double": double, "prefix": prefix, "wrap": wrap, "rename": rename,
}  # fmt: skip


def mutated(dice: random.Random) -> tuple[tuple[str, ...], str, str]:
    """The names of samples, how they were changed, and the text."""
    names = [dice.choice(sorted(samples()))]
    text, done = samples()[names[0]], []
    if dice.randrange(4) == 0:
        names.append(dice.choice(sorted(samples())))
        text = mix(text, samples()[names[1]], dice)
        done.append("mix")
    for _ in range(dice.choice([1, 1, 1, 2])):
        how = dice.choice(sorted(MUTATIONS))
        text = MUTATIONS[how](text, dice) if text else text
        done.append(how)
    return tuple(names), ", ".join(done), text
