"""Proofs that an exercise file says what its author means; every finding has a file and a line."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from app.catalog import TOPIC_FILE, Catalog, read_exercise
from app.errors import AppError, ContentError, InputError, Problem
from app.expressions import ExpressionError
from app.kinds import Exercise, Finding
from app.kinds.base import Answer, single
from app.kinds.numeric import Numeric
from app.markdown import MathematicsError, html
from app.sandbox.runner import Runner

SEEDS = range(20)
_CODE_SEEDS = range(5)
_AT_ONCE = 4  # files
_TELLING = 3  # characters of a figure that cannot be there by chance


@dataclass(frozen=True, slots=True)
class Linted:
    """What was looked at, and what is wrong with it."""

    files: int
    problems: tuple[Problem, ...]


async def lint(paths: Sequence[Path], runner: Runner) -> Linted:
    """Prove every exercise file in *paths*, which are files, chapters or folders of chapters.

    Raises:
        InputError: a path does not exist, or holds no exercise file.
        UnavailableError: the sandbox cannot run the code of an exercise.
    """
    files = sorted(set(chain.from_iterable(_files(path) for path in paths)))
    problems: list[Problem] = []
    turns = asyncio.Semaphore(_AT_ONCE)
    for found in await asyncio.gather(*(_lint_file(file, runner, turns) for file in files)):
        problems += found
    for folder in paths:
        if folder.is_dir() and not (folder / TOPIC_FILE).exists():
            problems += _topics(folder)
    problems.sort(key=lambda problem: (problem.path, problem.line))
    return Linted(len(files), tuple(dict.fromkeys(problems)))


def _files(path: Path) -> Iterable[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(f"{path} does not exist")
    found = [file for file in path.rglob("*.yaml") if file.name != TOPIC_FILE]
    if not found:
        raise InputError(f"{path} holds no exercise file (*.yaml)")
    return found


def _topics(folder: Path) -> tuple[Problem, ...]:
    """What is wrong with the chapters of *folder* as a whole."""
    try:
        Catalog.read([folder])
    except ContentError as error:
        return error.problems
    return ()


async def _lint_file(file: Path, runner: Runner, turns: asyncio.Semaphore) -> list[Problem]:
    try:
        exercise, document = read_exercise(file, file.resolve().parent.name)
    except ContentError as error:
        return list(error.problems)
    async with turns:
        findings = await prove(exercise, runner)
    return [document.problem(finding.where, finding.says) for finding in findings]


async def prove(exercise: Exercise, runner: Runner) -> list[Finding]:
    """Everything wrong with *exercise*, each thing once.

    Raises:
        UnavailableError: the sandbox cannot run its code.
    """
    for seed in SEEDS:
        await asyncio.sleep(0)  # what is worked out here must not keep a run's answer waiting
        findings = [_at(seed, finding) for finding in await _prove_drawing(exercise, seed, runner)]
        if findings:
            return findings  # other drawings would mostly say the same again
    return await exercise.prove_code(_CODE_SEEDS, runner)


def _at(seed: int, finding: Finding) -> Finding:
    return Finding(finding.where, f"seed {seed}: {finding.says}")


async def _prove_drawing(exercise: Exercise, seed: int, runner: Runner) -> list[Finding]:
    try:
        drawn = exercise.draw(seed)
    except ExpressionError as error:
        return [Finding(("given",), str(error))]
    findings = list(_prove_texts(exercise, seed)) + list(exercise.prove(drawn))
    if not findings:
        findings += _prove_solution(exercise, seed)
    if not findings:
        findings += _prove_hints(exercise, seed)
    if not findings and exercise.kind != "function":  # its prove_code grades, and once is enough
        findings += await _prove_answers(exercise, seed, runner)
    return findings


def _prove_texts(exercise: Exercise, seed: int) -> Iterator[Finding]:
    drawn = exercise.draw(seed)
    for where, text in exercise.texts():
        if "mistakes" in where:  # filled with the answers known, when the mistakes are proven
            continue
        try:
            html(exercise.fill(text, drawn))
        except (ExpressionError, MathematicsError) as error:
            yield Finding(where, str(error))


def _prove_solution(exercise: Exercise, seed: int) -> Iterator[Finding]:
    try:
        html(exercise.variant(seed).solution)
    except (ExpressionError, MathematicsError) as error:
        yield Finding(("solution",), str(error))


def _prove_hints(exercise: Exercise, seed: int) -> Iterator[Finding]:
    """No hint contains the figures of the answer."""
    if not isinstance(exercise, Numeric):
        return
    shown = {k.asked.shown(k.right).split()[0] for k in exercise.keys(seed).values()}
    figures = shown | {figure.replace(",", "") for figure in shown}
    prompt = exercise.variant(seed).prompt
    for index, hint in enumerate(exercise.variant(seed).hints):
        for figure in figures:
            if (
                len(figure) >= _TELLING
                and _mentions(hint, figure)
                and not _mentions(prompt, figure)
            ):
                yield Finding(("hints", index), f"gives the answer away: {figure}")


def _mentions(text: str, figure: str) -> bool:
    return re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)", text) is not None


async def _prove_answers(exercise: Exercise, seed: int, runner: Runner) -> list[Finding]:
    findings = []
    right = exercise.right_answer(seed)
    try:
        if not (await exercise.grade(seed, right, runner)).correct:
            findings.append(Finding((), f"does not accept its own answer {_short(right)}"))
        for answer, says in exercise.mistakes(seed):
            verdict = await exercise.grade(seed, answer, runner)
            if verdict.correct:
                findings.append(Finding((), f"accepts the mistake {_short(answer)}"))
            elif not any(says in sentence for sentence in verdict.feedback):
                findings.append(Finding((), f"the mistake {_short(answer)} does not get: {says}"))
    except AppError as error:
        findings.append(Finding((), str(error)))
    return findings


def _short(answer: Answer) -> str:
    return repr(single(answer) if isinstance(answer, str) else answer)[:100]
