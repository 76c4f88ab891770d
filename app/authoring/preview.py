"""`wallclock preview`: exercise files as students see them, proven and shown anew when saved."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response
from markupsafe import Markup

from app.authoring.lint import Linted, lint_file
from app.content.catalog import TOPIC_FILE, read_exercise, topic_of
from app.errors import AppError, ContentError, InputError, NotFoundError
from app.expressions import ExpressionError
from app.kinds import Exercise
from app.kinds.answers import Answer
from app.main import create_app
from app.markdown import html
from app.sandbox.runner import Runner
from app.site import Site
from app.web.frame.rendering import Link, frame, render

_SEEDS = (0, 1, 2, 3)
_GONE = "gone"


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer, and what somebody hears who gives it."""

    answer: str
    correct: bool
    feedback: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """What lint says of a file, and what its answers are told."""

    linted: Linted
    answers: tuple[Judged, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """One drawing of the exercise, in a frame."""

    seed: int
    src: str


@dataclass(frozen=True, slots=True)
class PreviewPage:
    """A file with its drawings, and the other files."""

    name: str
    path: str
    stamp: str
    drawings: tuple[Drawing, ...]
    unread: str
    others: tuple[Link, ...]


class Preview:
    """The files that are edited, and what is known of their present text."""

    def __init__(self, path: Path, site: Site) -> None:
        self.files = _files(path)
        self.app = create_app(site=site, framed=True)
        self._stamps: dict[str, str] = {}
        self._proofs: dict[tuple[str, str], Proof] = {}
        self._unread: dict[str, str] = {}

    @property
    def site(self) -> Site:
        """What the pages are served from."""
        site: Site = self.app.state.site
        return site

    def file(self, name: str) -> Path:
        """The file called *name*; the first one if that is empty.

        Raises:
            NotFoundError: there is none.
        """
        chosen = name or next(iter(self.files))
        if chosen not in self.files:
            raise NotFoundError(f"no file here is called {chosen[:80]!r}")
        return self.files[chosen]

    def refresh(self, name: str) -> str:
        """Read the file again if it changed; its stamp."""
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
                self.app.state.site = replace(self.site, catalog=catalog)
        return stamp

    def page(self, name: str) -> PreviewPage:
        """The page of a file."""
        path, stamp = self.file(name), self.refresh(name)
        key = f"{topic_of(path)}/{path.stem}"
        shown = _SEEDS if key in self.site.catalog.by_id else ()
        drawings = tuple(Drawing(seed, f"/exercises/{key}?seed={seed}") for seed in shown)
        others = tuple(Link(f"/preview?name={other}", other) for other in self.files)
        unread = self._unread.get(path.stem, "")
        return PreviewPage(path.stem, str(path), stamp, drawings, unread, others)

    async def proof(self, name: str) -> Proof:
        """What is proven of a file; an unchanged one is not proven again."""
        path, stamp = self.file(name), self.refresh(name)
        if (path.stem, stamp) not in self._proofs:
            await self.site.runner.ready()
            linted = await lint_file(path, self.site.runner)
            exercise = self.site.catalog.by_id.get(f"{topic_of(path)}/{path.stem}")
            shown = exercise is not None and path.stem not in self._unread
            answers = await _judged(exercise, self.site.runner) if exercise and shown else ()
            self._proofs[path.stem, stamp] = Proof(linted, answers)
        return self._proofs[path.stem, stamp]


def preview_app(path: Path, site: Site) -> FastAPI:
    """The site, with /preview for the exercise files at *path*.

    Raises:
        InputError: there is no exercise file.
    """
    preview = Preview(path, site)
    router = APIRouter(prefix="/preview")

    @router.get("")
    async def show(request: Request, name: str = "") -> Response:
        page = preview.page(name)
        return render("preview.html", frame(request, f"Preview of {page.name}"), page)

    @router.get("/stamp")
    async def stamp(name: str = "") -> Response:
        return Response(preview.refresh(name), media_type="text/plain")

    @router.get("/proof")
    async def proof(request: Request, name: str = "") -> Response:
        return render("proof.html", frame(request, "Proof"), await preview.proof(name))

    preview.app.include_router(router)
    return preview.app


async def _judged(exercise: Exercise, runner: Runner) -> tuple[Judged, ...]:
    """The right answer and each foreseen mistake of variant 0, with what they are told."""
    try:
        answers = [exercise.right_answer(0), *(answer for answer, _ in exercise.mistakes(0))]
        return tuple([await _judge(exercise, answer, runner) for answer in answers])
    except (AppError, ValueError) as error:  # told in full by lint
        return (Judged("", False, (Markup("<p>{}</p>").format(error),)),)


async def _judge(exercise: Exercise, answer: Answer, runner: Runner) -> Judged:
    verdict = await exercise.grade(0, answer, runner)
    feedback = tuple(html(sentence) for sentence in verdict.feedback)
    return Judged(_shown(answer), verdict.correct, feedback)


def _shown(answer: Answer) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        return "\n".join(f"{key}: {value}" for key, value in answer.items())
    return json.dumps(answer, ensure_ascii=False)


def _files(path: Path) -> dict[str, Path]:
    found = [path] if path.is_file() else sorted(path.glob("*.yaml"), key=_place)
    files = {file.stem: file for file in found if file.name != TOPIC_FILE}
    if not files:
        raise InputError(
            f"{path} is no exercise file, nor a folder with one; "
            "`wallclock new numeric my-course/first` writes one"
        )
    return files


def _place(path: Path) -> tuple[bool, float, str]:
    """Where the chapter has the exercise of *path*; a file that cannot be read comes last."""
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
