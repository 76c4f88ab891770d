"""`wallclock preview`: exercise files as students see them, linted and reloaded when saved."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response
from markupsafe import Markup

from app.authoring.lint import Linted, lint_file
from app.content.files import read_exercise, topic_of
from app.content.images import images_in
from app.content.topic_file import TOPIC_FILE
from app.content.translations import is_translation
from app.errors import AppError, ContentError, InputError, NotFoundError
from app.expressions import ExpressionError
from app.kinds import Exercise
from app.kinds.answers import Answer
from app.main import create_app
from app.markdown import html
from app.sandbox.runner import Runner
from app.site import Site
from app.web.frame.renderer import Hyperlink, frame, render

_SEEDS = (0, 1, 2, 3)
_GONE = "gone"


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer, its verdict and its feedback."""

    answer: str
    correct: bool
    feedback: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The findings of lint on a file, and the verdicts on its answers."""

    linted: Linted
    answers: tuple[GradedAnswer, ...]


@dataclass(frozen=True, slots=True)
class DrawingFrame:
    """A frame with one drawing of the exercise."""

    seed: int
    src: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewPage:
    """A file with its drawings, and links to the other files."""

    name: str
    path: str
    stamp: str
    drawings: tuple[DrawingFrame, ...]
    unread: str
    others: tuple[Hyperlink, ...]


class AuthoringPreview:
    """The files that are edited, and the results for their current content."""

    def __init__(self, path: Path, site: Site) -> None:
        self.files = _files(path)
        self.app = create_app(site=site, framed=True)
        self._stamps: dict[str, str] = {}
        self._proofs: dict[tuple[str, str], Proof] = {}
        self._unread: dict[str, str] = {}

    @property
    def site(self) -> Site:
        """The site that serves the pages, with the exercises as last read."""
        site: Site = self.app.state.site
        return site

    def file(self, name: str) -> Path:
        """The file called *name*, or the first one if *name* is empty.

        Raises:
            NotFoundError: there is no such file.
        """
        chosen = name or next(iter(self.files))
        if chosen not in self.files:
            raise NotFoundError(f"no file here is called {chosen[:80]!r}")
        return self.files[chosen]

    def refresh(self, name: str) -> str:
        """Read the file again if it has changed, and return its stamp."""
        path = self.file(name)
        stamp = _stamp(path)
        if stamp != self._stamps.get(path.stem):
            self._stamps[path.stem] = stamp
            try:
                exercise = read_exercise(path, topic_of(path))[0]
                for seed in _SEEDS:
                    exercise.variant(seed)
                    exercise.question(seed)
            except (ContentError, ExpressionError) as error:
                self._unread[path.stem] = str(error)
            else:
                self._unread.pop(path.stem, None)
                catalog = self.site.catalog.with_exercise(exercise)
                images = {**catalog.images, **_images_beside(path)}
                catalog = replace(catalog, images=images)
                self.app.state.site = replace(self.site, course=catalog)
        return stamp

    def page(self, name: str) -> PreviewPage:
        """The page of a file."""
        path, stamp = self.file(name), self.refresh(name)
        key = f"{topic_of(path)}/{path.stem}"
        shown = _SEEDS if key in self.site.catalog.by_id else ()
        return PreviewPage(
            name=path.stem,
            path=str(path),
            stamp=stamp,
            drawings=tuple(DrawingFrame(seed, f"/exercises/{key}?seed={seed}") for seed in shown),
            unread=self._unread.get(path.stem, ""),
            others=tuple(Hyperlink(f"/preview?name={other}", other) for other in self.files),
        )

    async def proof(self, name: str) -> Proof:
        """The proof of a file; that of an unchanged file is cached."""
        path, stamp = self.file(name), self.refresh(name)
        if (path.stem, stamp) not in self._proofs:
            await self.site.runner.ready()
            linted = await lint_file(path, self.site.runner)
            exercise = self.site.catalog.by_id.get(f"{topic_of(path)}/{path.stem}")
            shown = exercise is not None and path.stem not in self._unread
            answers = await _graded(exercise, self.site.runner) if exercise and shown else ()
            self._proofs[path.stem, stamp] = Proof(linted, answers)
        return self._proofs[path.stem, stamp]


def preview_app(path: Path, site: Site) -> FastAPI:
    """The site, with /preview for the exercise files at *path*.

    Raises:
        InputError: there is no exercise file.
    """
    preview = AuthoringPreview(path, site)
    router = APIRouter(prefix="/preview")

    @router.get("")
    async def show(request: Request, name: str = "") -> Response:
        page = preview.page(name)
        around = replace(frame(request, f"Preview of {page.name}"), arrives=False)
        return render("authoring/preview.html", around, page)

    @router.get("/stamp")
    async def stamp(name: str = "") -> Response:
        return Response(preview.refresh(name), media_type="text/plain")

    @router.get("/proof")
    async def proof(request: Request, name: str = "") -> Response:
        return render("authoring/proof.html", frame(request, "Proof"), await preview.proof(name))

    preview.app.include_router(router)
    return preview.app


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


def _files(path: Path) -> dict[str, Path]:
    found = [path] if path.is_file() else sorted(path.glob("*.yaml"), key=_place)
    files = {
        file.stem: file for file in found if not is_translation(file) and file.name != TOPIC_FILE
    }
    if not files:
        raise InputError(
            f"{path} is not an exercise file, nor a folder with one; "
            "`wallclock new numeric my-course/first` writes one"
        )
    return files


def _images_beside(path: Path) -> Mapping[str, Path]:
    """The images beside the exercise at *path*; lint reports those that cannot be served."""
    found = images_in(path.parent, [])
    return {f"{topic_of(path)}/{name}": image for name, image in found}


def _place(path: Path) -> tuple[bool, float, str]:
    """The sort key of the exercise at *path* in its chapter; a file that cannot be read is last."""
    try:
        exercise = read_exercise(path, topic_of(path))[0]
    except ContentError:
        return True, math.inf, path.stem
    return not exercise.core, exercise.position, path.stem


def _stamp(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return _GONE
