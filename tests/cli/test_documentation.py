"""The commands in the documentation, read by the parser that reads those of people."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.__main__ import parse_command_line

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "app" / "docs").glob("*.md")))
BLOCK = re.compile(r"^ *```(?:sh|bash)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(wallclock [^`]+)`")
LEAST_IN_BLOCKS, LEAST_IN_SENTENCES = 90, 30
LEFT_OUT = 2  # words that a sentence may leave out
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "<"}


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of every `wallclock` that a shell would run for *text*."""
    ahead = ""
    for line in text.replace("\\\n", " ").splitlines():
        ahead += line + "\n"
        if (words := _words(ahead)) is not None:
            yield from _calls(words)
            ahead = ""
    assert not ahead, f"a quotation is not closed in {ahead}"


def _words(text: str) -> list[str] | None:
    """The words and operators of *text*; None where a quotation goes on in the next line."""
    read = shlex.shlex(text, posix=True, punctuation_chars="|&;<>")
    read.whitespace_split = True
    try:
        return list(read)
    except ValueError:
        return None


def _calls(words: list[str]) -> Iterator[list[str]]:
    begun = True
    for at, word in enumerate(words):
        if begun and word.rpartition("/")[2] == "wallclock":
            end = next((i for i in range(at, len(words)) if words[i] in ENDS), len(words))
            yield words[at + 1 : end]
        begun = word in ENDS or (begun and "=" in word)


def _documented() -> Iterator[tuple[str, list[str]]]:
    """Each command in a block of a page, with the page."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text(encoding="utf-8")):
            yield from ((page.name, command) for command in commands(block))


def _mentioned() -> Iterator[tuple[str, list[str]]]:
    """Each command in a sentence of a page, which may leave out what it works on."""
    for page in PAGES:
        for text in INLINE.findall(page.read_text(encoding="utf-8")):
            yield from ((page.name, command) for command in commands(" ".join(text.split())))


def _is_accepted(command: list[str]) -> bool:
    try:
        parse_command_line(command)
    except SystemExit:
        return False
    return True


def test_the_parser_accepts_each_command_of_the_documentation() -> None:
    documented = list(_documented())
    assert len(documented) > LEAST_IN_BLOCKS
    refused = [(page, shlex.join(words)) for page, words in documented if not _is_accepted(words)]
    assert refused == []


def test_the_parser_accepts_each_command_that_a_sentence_mentions() -> None:
    mentioned = list(_mentioned())
    assert len(mentioned) > LEAST_IN_SENTENCES
    refused = [
        (page, shlex.join(words))
        for page, words in mentioned
        if not any(_is_accepted([*words, *["1"] * missing]) for missing in range(LEFT_OUT + 1))
    ]
    assert refused == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cd x && A=1 /opt/bin/wallclock lint 'a b' # why", [["lint", "a b"]]),
        ("mpirun ... perf | wallclock measured -", [["measured", "-"]]),
        ("wallclock lab \\\n  list > out; wallclock schema", [["lab", "list"], ["schema"]]),
        ("pip install wallclock", []),
        ("systemctl enable --now wallclock", []),
    ],
)
def test_commands_are_found_in_lines_of_a_shell(line: str, found: list[list[str]]) -> None:
    assert list(commands(line)) == found


@pytest.mark.parametrize("command", ["lint --jsom", "serve --port soon", "lnt", "backup"])
def test_a_command_that_does_not_exist_is_refused(command: str) -> None:
    assert not _is_accepted(command.split())
