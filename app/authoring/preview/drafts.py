"""What is proven of the text of an exercise, and how it is shown, before it is stored."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from fastapi import FastAPI
from markupsafe import Markup

from app.authoring.lint import Linted, lint_document
from app.core.errors import AppError, ContentError, Problem, UnavailableError
from app.core.expressions import ExpressionError
from app.core.yaml_file import YamlDocument, parse_document
from app.course.content.files import parse_exercise, topic_of
from app.course.content.images import images_in
from app.course.kinds import Exercise
from app.course.kinds.answers import Answer
from app.course.sandbox.runner import Runner
from app.site import Site
from app.site.markdown import html

SEEDS = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer, its verdict and its feedback."""

    answer: str
    correct: bool
    feedback: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The findings of lint on a text, and the verdicts on its answers.

    *shown*: the exercise can be drawn, and is what the page shows.
    """

    linted: Linted
    answers: tuple[GradedAnswer, ...]
    shown: bool


@dataclass(frozen=True, slots=True)
class _ReadText:
    """A text and the exercise in it, as far as it can be read."""

    document: YamlDocument
    exercise: Exercise | None


class Drafts:
    """The texts that authors work on, each shown by *app* in place of its file."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = Lock()  # of the catalog, and of the proofs
        self._proofs: dict[Path, tuple[bytes, Proof]] = {}

    def show(self, path: Path, source: bytes) -> bool:
        """Show the exercise in *source*; false where it cannot be drawn."""
        try:
            read = _read(path, source)
        except ContentError:
            return False
        return read.exercise is not None and self._show(path, read.exercise)

    async def prove(self, path: Path, source: bytes, runner: Runner) -> Proof:
        """Show the exercise in *source*, and prove it; the last proof of a file is cached."""
        known, proof = self._proofs.get(path, (b"", None))
        if proof and known == source:
            self.show(path, source)  # another page may show another text
            return proof
        proof = await self._prove(path, source, runner)
        self._proofs[path] = source, proof
        return proof

    async def _prove(self, path: Path, source: bytes, runner: Runner) -> Proof:
        try:
            read = _read(path, source)
        except ContentError as error:
            return Proof(Linted(1, error.problems, ()), (), shown=False)
        shown = read.exercise is not None and self._show(path, read.exercise)
        try:
            linted = await lint_document(read.document, runner)
        except UnavailableError as error:
            problem = Problem(path, 1, str(error), error.cause)
            return Proof(Linted(1, (problem,), ()), (), shown=shown)
        answers = await _graded(read.exercise, runner) if read.exercise and shown else ()
        return Proof(linted, answers, shown)

    def _show(self, path: Path, exercise: Exercise) -> bool:
        try:
            for seed in SEEDS:
                exercise.variant(seed)
                exercise.question(seed)
        except ExpressionError:
            return False
        with self._lock:
            site: Site = self._app.state.site
            catalog = site.catalog.with_exercise(exercise)
            images = {**catalog.images, **_images_beside(path)}
            self._app.state.site = replace(site, course=replace(catalog, images=images))
        return True


def _read(path: Path, source: bytes) -> _ReadText:
    """The exercise in *source*; none, where lint says why.

    Raises:
        ContentError: it is not the text of a mapping.
    """
    document = parse_document(path, source)
    try:
        return _ReadText(document, parse_exercise(document, topic_of(path)))
    except ContentError:
        return _ReadText(document, None)


def _images_beside(path: Path) -> Mapping[str, Path]:
    """The images beside the exercise at *path*; lint reports those that cannot be served."""
    found = images_in(path.parent, []) if path.parent.is_dir() else ()  # a new chapter
    return {f"{topic_of(path)}/{name}": image for name, image in found}


async def _graded(exercise: Exercise, runner: Runner) -> tuple[GradedAnswer, ...]:
    """The right answer and each foreseen mistake of variant 0, graded."""
    try:
        answers = [exercise.right_answer(0), *(answer for answer, _ in exercise.mistakes(0))]
        return tuple([await _grade(exercise, answer, runner) for answer in answers])
    except (AppError, ValueError) as error:  # reported in full by lint
        return (GradedAnswer("", False, (Markup("<p>{}</p>").format(error),)),)


async def _grade(exercise: Exercise, answer: Answer, runner: Runner) -> GradedAnswer:
    verdict = await exercise.grade(0, answer, runner)
    feedback = tuple(html(sentence) for sentence in verdict.feedback)
    return GradedAnswer(_shown_preview(answer), verdict.correct, feedback)


def _shown_preview(answer: Answer) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        return "\n".join(f"{key}: {value}" for key, value in answer.items())
    return json.dumps(answer, ensure_ascii=False)
