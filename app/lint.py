"""Proofs that an exercise file says what its author means; every finding has a file and a line."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from app.catalog import TOPIC_FILE, Catalog, read_exercise, read_topic, topic_of
from app.errors import ContentError, InputError, Problem
from app.kinds import Finding
from app.markdown import MathematicsError, html
from app.proofs import (
    prove,
    prove_figures,
    prove_lab,
    prove_links,
    prove_sources,
    prove_use,
    trouble_of_figure,
)
from app.sandbox.runner import Runner

_AT_ONCE = 4  # files


@dataclass(frozen=True, slots=True)
class Note:
    """Something that is worth knowing of a right file."""

    path: Path
    says: str


@dataclass(frozen=True, slots=True)
class Linted:
    """What was looked at, what is wrong with it, and what is worth knowing."""

    files: int
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]


async def lint(
    paths: Sequence[Path], runner: Runner, beside: Sequence[Path] = (), *, links: bool = False
) -> Linted:
    """Prove every exercise file in *paths*, which are files, chapters or folders of chapters.

    With *links* the sources are asked whether they are still there.
    Folders of chapters must go together with those in *beside*, which are there already.

    Raises:
        InputError: a path does not exist, or holds no exercise file.
        UnavailableError: the sandbox cannot run the code of an exercise.
    """
    files = sorted(set(chain.from_iterable(_files(path) for path in paths)))
    turns = asyncio.Semaphore(_AT_ONCE)
    linted = await asyncio.gather(*(_in_turn(file, runner, turns, links) for file in files))
    chapters = (lint_topic(file) for path in paths for file in _topic_files(path))
    problems = [problem for one in (*linted, *chapters) for problem in one.problems]
    for folder in paths:
        if folder.is_dir() and not (folder / TOPIC_FILE).exists():
            problems += _topics([*(f for f in beside if not _same(f, folder)), folder])
    problems.sort(key=lambda problem: (problem.path, problem.line))
    notes = tuple(note for one in linted for note in one.notes)
    return Linted(len(files), tuple(dict.fromkeys(problems)), notes)


async def lint_file(file: Path, runner: Runner, *, links: bool = False) -> Linted:
    """Prove one exercise file.

    Raises:
        UnavailableError: the sandbox cannot run its code.
    """
    try:
        exercise, document = read_exercise(file, topic_of(file))
    except ContentError as error:
        return Linted(1, error.problems, ())
    findings = [
        *prove_use(exercise, document.values),
        *prove_links(exercise),
        *prove_figures(exercise),
        *prove_lab(exercise),
    ]
    findings += await prove(exercise, runner)
    if links:
        findings += await asyncio.to_thread(lambda: list(prove_sources(exercise)))
    problems = [document.problem(f.where, f.says, f.cure) for f in findings]
    notes = () if problems else tuple(Note(file, says) for says in exercise.notes())
    return Linted(1, tuple(problems), notes)


def lint_topic(file: Path) -> Linted:
    """Prove the texts and figures of one chapter's own file."""
    try:
        topic, document = read_topic(file)
    except ContentError as error:
        return Linted(0, error.problems, ())
    findings = []
    for where, text in (("opening", topic.opening), ("closing", topic.closing)):
        try:
            html(text)
        except MathematicsError as error:
            findings.append(Finding((where,), str(error)))
    for index, figure in enumerate(topic.figures):
        state = {name: str(text) for name, text in figure.state.items()}
        if says := trouble_of_figure(figure, state):
            findings.append(Finding(("figures", index), says))
    return Linted(0, tuple(document.problem(f.where, f.says, f.cure) for f in findings), ())


async def _in_turn(file: Path, runner: Runner, turns: asyncio.Semaphore, links: bool) -> Linted:
    async with turns:
        return await lint_file(file, runner, links=links)


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        if not os.path.lexists(path):
            raise InputError(f"{path} does not exist")
        return [path] if path.name != TOPIC_FILE else []
    found = [file for file in path.rglob("*.yaml") if file.name != TOPIC_FILE]
    if not found:
        raise InputError(f"{path} holds no exercise file (*.yaml)")
    return found


def _topic_files(path: Path) -> Iterable[Path]:
    if path.is_file():
        return [path] if path.name == TOPIC_FILE else []
    return sorted(path.rglob(TOPIC_FILE))


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _topics(folders: Sequence[Path]) -> tuple[Problem, ...]:
    """What is wrong with the chapters of *folders* as a whole."""
    try:
        Catalog.read(folders)
    except ContentError as error:
        return error.problems
    return ()
