"""`wallclock preview`: exercise files beside their pages, linted while one types."""

import asyncio
import hashlib
import json
import math
import os
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from re import findall
from secrets import compare_digest, token_hex
from threading import Lock
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app.authoring.lint import LintReport, lint_document
from app.authoring.starters import exercise_schema
from app.core.errors import AppError, ContentError, InputError, NotFoundError, Problem, UnavailableError
from app.core.expressions import ExpressionError
from app.core.yaml_file import LARGEST, YamlDocument, parse_document, read_bytes
from app.course.content.images import images_in
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import is_translation, parse_exercise, read_exercise, topic_of
from app.course.kinds import Exercise
from app.course.kinds.base import Answer
from app.course.sandbox.process import Execution, Plain
from app.course.sandbox.runner import Runner
from app.main import create_app
from app.server.aside import pay_nothing
from app.site import Site
from app.site.markdown import html
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import from_here

GONE = "gone"  # the stamp of a file that does not exist


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and its stamp; *trouble* says why it cannot be edited."""

    text: str
    stamp: str
    trouble: str = ""


def files_of(path: Path) -> dict[str, Path]:
    """The exercise files at *path* by their names, in the order of their chapter.

    Raises:
        InputError: there is none.
    """
    found = [path] if path.is_file() else sorted(path.glob("*.yaml"), key=_sort_key)
    files = {
        file.stem: file for file in found if path.is_file() or not (is_translation(file) or file.name == TOPIC_FILE)
    }
    if not files:
        raise InputError(
            f"{path} is not an exercise file, nor a folder with one; `wallclock new numeric my-course/first` writes one"
        )
    return files


def read_text(path: Path) -> FileText:
    """The text of the file at *path* as an editor shows it: with simple line ends."""
    stamp = stamp_of(path)
    if stamp == GONE:
        return FileText("", stamp)
    if path.is_symlink():
        return FileText("", stamp, "The file is a symbolic link. Edit the one that it leads to.")
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except ContentError as error:
        return FileText("", stamp, f"The file {error.problems[0].says}.")
    except UnicodeDecodeError:
        return FileText("", stamp, "The file is not UTF-8.")
    return FileText(text.replace("\r\n", "\n").replace("\r", "\n"), stamp)


def stamp_of(path: Path) -> str:
    """What tells this content of the file at *path* apart from a later one."""
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()[:16]
    except ContentError:  # too large, not a file, or not there
        try:
            found = os.lstat(path)
        except OSError:
            return GONE
        return f"{found.st_mtime_ns:x}-{found.st_size:x}"


def _sort_key(path: Path) -> tuple[bool, float, str]:
    """The sort key of the exercise at *path* in its chapter; a file that cannot be read is last."""
    try:
        exercise = read_exercise(path, topic_of(path))[0]
    except ContentError:
        return True, math.inf, path.stem
    return not exercise.core, exercise.position, path.stem


_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_NEW = 0o666  # less what the umask takes away
_SAVING = Lock()


class ChangedFileError(Exception):
    """The file has changed since a page read it."""


def save_text(path: Path, text: str, seen: str) -> str:
    """Store *text* in the file at *path* if its stamp is still *seen*; its new stamp.

    Raises:
        ChangedFileError: another program, or another page, has changed the file.
        InputError: the file cannot be written.
    """
    with _SAVING:
        if stamp_of(path) != seen:
            raise ChangedFileError
        if trouble := read_text(path).trouble:
            raise InputError(trouble)
        try:
            before = "" if seen == GONE else read_bytes(path).decode("utf-8")
        except (ContentError, UnicodeDecodeError) as error:
            raise ChangedFileError from error
        source = with_line_ends(text, before).encode()
        if len(source) > LARGEST:
            raise InputError(f"The file would have more than {LARGEST:,} bytes.")
        try:
            _replace(path, source, seen)
        except OSError as error:
            says = f"The file cannot be written: {(error.strerror or str(error)).lower()}."
            raise InputError(says) from error
        return stamp_of(path)


def with_line_ends(text: str, before: str) -> str:
    r"""*text* with the line ends and the byte order mark of the text *before*.

    A line that was there keeps its own; others get the most frequent.

    >>> with_line_ends("a\nb\nc\n", "a\r\nc\n")
    'a\r\nb\r\nc\n'
    """
    ended = findall(r"([^\r\n]*)(\r\n|\r|\n)", before.removeprefix(_BOM))
    most = Counter(end for _, end in ended).most_common(1)
    usual = most[0][0] if most else "\n"
    known: dict[str, list[str]] = defaultdict(list)
    for line, end in reversed(ended):
        known[line].append(end)
    *lines, last = text.split("\n")
    kept = "".join(line + (known[line].pop() if known[line] else usual) for line in lines)
    return (_BOM if before.startswith(_BOM) else "") + kept + last


def _replace(path: Path, source: bytes, seen: str) -> None:
    """Put a new file with *source* in the place of the one at *path*."""
    beside = path.with_name(f".{path.name}-{token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _NEW)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if seen != GONE:
                os.chmod(beside, stat.S_IMODE(path.stat().st_mode))
            file.write(source)
            file.flush()
            os.fsync(descriptor)
        if stamp_of(path) != seen:
            raise ChangedFileError
        os.replace(beside, path)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


SEEDS = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer, its verdict and its feedback."""

    answer: str
    correct: bool
    feedback: tuple[Markup, ...]


@dataclass(frozen=True, slots=True)
class Proof:
    """The findings of lint on a text, the verdicts on its answers, and whether its exercise is *shown*."""

    linted: LintReport
    answers: tuple[GradedAnswer, ...]
    shown: bool


class Drafts:
    """The texts that authors work on, each shown by *app* in place of its file."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = Lock()  # of the catalog, and of the proofs
        self._proofs: dict[Path, tuple[bytes, Proof]] = {}

    def show(self, path: Path, source: bytes) -> bool:
        """Show the exercise in *source*; false where it cannot be drawn."""
        try:
            _, exercise = _read(path, source)
        except ContentError:
            return False
        return exercise is not None and self._show(path, exercise)

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
            document, exercise = _read(path, source)
        except ContentError as error:
            return Proof(LintReport(1, error.problems, ()), (), shown=False)
        shown = exercise is not None and self._show(path, exercise)
        try:
            linted = await lint_document(document, runner)
        except UnavailableError as error:
            problem = Problem(path, 1, str(error), error.cause)
            return Proof(LintReport(1, (problem,), ()), (), shown=shown)
        return Proof(linted, await _graded(exercise, runner) if exercise and shown else (), shown)

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
            found = images_in(path.parent, []) if path.parent.is_dir() else ()  # a new chapter
            beside = {f"{topic_of(path)}/{name}": image for name, image in found}  # lint reports the others
            self._app.state.site = replace(site, course=replace(catalog, images={**catalog.images, **beside}))
        return True


def _read(path: Path, source: bytes) -> tuple[YamlDocument, Exercise | None]:
    """The document that *source* is, and the exercise in it; none, where lint says why."""
    document = parse_document(path, source)
    try:
        return document, parse_exercise(document, topic_of(path))
    except ContentError:
        return document, None


async def _graded(exercise: Exercise, runner: Runner) -> tuple[GradedAnswer, ...]:
    """The right answer and each foreseen mistake of variant 0, graded."""
    try:
        graded = []
        for answer in (exercise.right_answer(0), *(answer for answer, _ in exercise.mistakes(0))):
            verdict = await exercise.grade(0, answer, runner)
            graded.append(GradedAnswer(_shown_preview(answer), verdict.correct, tuple(map(html, verdict.feedback))))
        return tuple(graded)
    except (AppError, ValueError) as error:  # reported in full by lint
        return (GradedAnswer("", False, (Markup("<p>{}</p>").format(error),)),)


def _shown_preview(answer: Answer) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        return "\n".join(f"{key}: {value}" for key, value in answer.items())
    return json.dumps(answer, ensure_ascii=False)


T = TypeVar("T")
Work = Callable[[Runner], Coroutine[Any, Any, T]]


class ThreadRunner(Runner):
    """Runs code for the event loop of another thread, in the workers of *runner*."""

    def __init__(self, runner: Runner, loop: asyncio.AbstractEventLoop) -> None:
        self._runner = runner
        self._loop = loop

    async def run(self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = "") -> Execution:
        """As `Runner.run`."""
        work = self._runner.run(source, entry, calls, learner)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


class LatestWork:
    """Runs one piece of work at a time; of those of one page, the latest replaces the others."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._thread = asyncio.Lock()
        self._running: dict[str, asyncio.Task[Any]] = {}

    async def result(self, page: str, work: Work[T]) -> T:
        """The result of *work*, which replaces earlier work of *page*.

        Raises:
            HTTPException: 409, later work has replaced it.
        """

        async def in_turn() -> T:
            async with self._thread:
                return await _in_thread(work, self._runner)

        task = asyncio.create_task(in_turn())
        if earlier := self._running.get(page):
            earlier.cancel()
        self._running[page] = task
        try:
            return await task
        except asyncio.CancelledError:
            if self._running.get(page) is task:
                raise
            raise HTTPException(HTTPStatus.CONFLICT, "a later text of this page is being checked") from None
        finally:
            if self._running.get(page) is task:
                del self._running[page]


async def _in_thread(work: Work[T], runner: Runner) -> T:
    """The result of *work* in an event loop of another thread; canceled when this is."""
    outer = asyncio.get_running_loop()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def main() -> T:
        started.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work(ThreadRunner(runner, outer))

    running = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(main())))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        loop, task = await asyncio.wrap_future(started)
        if task:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
        with suppress(asyncio.CancelledError):
            await running
        raise


_NO_KEY = "open the address that `wallclock preview` has printed: it has the key of this page"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewPage:
    """A file beside its exercise, and links to the other files; the text of one that is *locked* comes with the key."""

    name: str
    path: str
    file: FileText
    locked: bool
    shown: bool
    drawings: tuple[Hyperlink, ...]
    others: tuple[Hyperlink, ...]


class AuthoringPreview:
    """The files that are edited, and the site that shows them."""

    def __init__(self, files: dict[str, Path], site: Site, key: str, *, locked: bool) -> None:
        """The *files*, by name; only who knows the *key* may send texts and, if they are *locked*, read them."""
        self.app = create_app(site=site, framed=True)
        self.drafts = Drafts(self.app)
        self.files = files
        self._runner = site.runner
        self._latest = LatestWork(site.runner)
        self._key = key
        self._locked = locked

    def file(self, name: str) -> Path:
        """The file called *name*, or the first one if *name* is empty.

        Raises:
            NotFoundError: the file does not exist.
        """
        chosen = name or next(iter(self.files), "")
        if chosen not in self.files:
            raise NotFoundError(f"no file here is called {chosen[:80]!r}")
        return self.files[chosen]

    def page(self, name: str) -> PreviewPage:
        """The page of a file, whose exercise is shown as it is stored."""
        path, shown = self.file(name), False
        with suppress(ContentError):
            shown = self.drafts.show(path, read_bytes(path))
        address = f"/exercises/{topic_of(path)}/{path.stem}"
        return PreviewPage(
            name=path.stem,
            path=str(path),
            file=replace(read_text(path), text="") if self._locked else read_text(path),
            locked=self._locked,
            shown=shown,
            drawings=tuple(Hyperlink(f"{address}?seed={seed}", f"Variant {seed}") for seed in SEEDS),
            others=tuple(Hyperlink(f"/preview?name={other}", other) for other in self.files),
        )

    async def proof(self, path: Path, source: bytes, page: str) -> Proof:
        """The proof of *source* in place of the file at *path*.

        Raises:
            HTTPException: 409, a later text of the same *page* is proven in its place.
        """
        await self._runner.ready()

        async def work(runner: Runner) -> Proof:
            return await self.drafts.prove(path, source, runner)

        return await self._latest.result(page, work)

    async def stored_proof(self, name: str) -> Proof:
        """The proof of the file called *name*."""
        path = self.file(name)
        try:
            source = read_bytes(path)
        except ContentError as error:
            return Proof(LintReport(1, error.problems, ()), (), shown=False)
        return await self.proof(path, source, token_hex(8))

    async def admit(self, request: Request, x_preview_key: Annotated[str, Header()] = "") -> None:
        """Refuse what another site sends, and who does not have the key.

        Raises:
            HTTPException: 403.
        """
        await from_here(request)
        if not compare_digest(x_preview_key.encode(), self._key.encode()):
            raise HTTPException(HTTPStatus.FORBIDDEN, _NO_KEY)
        pay_nothing("preview")  # the author may type as long as they like

    async def admit_reader(self, request: Request, x_preview_key: Annotated[str, Header()] = "") -> None:
        """Refuse who may not read the texts, which have the answers, nor have them proven.

        Raises:
            HTTPException: 403.
        """
        if self._locked:
            await self.admit(request, x_preview_key)


_CHANGED = "another program, or another page, has changed the file since this page read it"


def preview_app(path: Path, site: Site, key: str, *, locked: bool = False) -> FastAPI:
    """The site, with /preview for the exercise files at *path*; the *key* lets a page edit them.

    If they are *locked*, it takes the key to read them, too.

    Raises:
        InputError: no exercise file was found.
    """
    preview = AuthoringPreview(files_of(path), site, key, locked=locked)
    preview.app.include_router(_reading_routes(preview))
    preview.app.include_router(_writing_routes(preview))
    return preview.app


def _reading_routes(preview: AuthoringPreview) -> APIRouter:
    router = APIRouter(prefix="/preview")

    @router.get("")
    def show(request: Request, name: str = "") -> Response:
        page = preview.page(name)
        around = replace(frame(request, f"Preview of {page.name}"), arrives=False)
        return render("authoring/preview.html", around, page)

    @router.get("/stamp")
    def stamp(name: str = "") -> Response:
        return Response(stamp_of(preview.file(name)), media_type="text/plain")

    @router.get("/text", dependencies=[Depends(preview.admit_reader)])
    def text(name: str = "") -> Response:
        found = read_text(preview.file(name))
        if found.trouble:
            return _routes_refusal(found.trouble)
        return Response(found.text, headers={"ETag": f'"{found.stamp}"'}, media_type="text/plain")

    @router.get("/schema")
    def schema() -> Response:
        return JSONResponse(exercise_schema())

    @router.get("/proof", dependencies=[Depends(preview.admit_reader)])
    async def proof(request: Request, name: str = "") -> Response:
        found = await preview.stored_proof(name)
        return render("authoring/proof.html", frame(request, "Proof"), found)

    return router


def _writing_routes(preview: AuthoringPreview) -> APIRouter:
    """What only the page may send that has the key."""
    router = APIRouter(prefix="/preview", dependencies=[Depends(preview.admit)])

    @router.post("/draft")
    async def draft(request: Request, name: str = "", page: str = "") -> Response:
        found = await preview.proof(preview.file(name), await _text_of(request), page)
        return render("authoring/proof.html", frame(request, "Proof"), found)

    @router.put("/text")
    async def save(request: Request, name: str = "", if_match: Annotated[str, Header()] = "") -> Response:
        path, source = preview.file(name), await _text_of(request)
        return await asyncio.to_thread(_save, path, source, if_match.strip('"'))

    return router


def _save(path: Path, source: bytes, seen: str) -> Response:
    try:
        stamp = save_text(path, source.decode(), seen)
    except ChangedFileError:
        return _routes_refusal(_CHANGED, HTTPStatus.PRECONDITION_FAILED)
    except UnicodeDecodeError:
        return _routes_refusal("The text is not UTF-8.")
    except InputError as error:
        return _routes_refusal(str(error))
    return Response(stamp, media_type="text/plain")


def _routes_refusal(says: str, status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> Response:
    return Response(says, status, media_type="text/plain")


async def _text_of(request: Request) -> bytes:
    """The text that a page sends."""
    source = await request.body()
    if len(source) > LARGEST:
        says = f"the text has {len(source):,} bytes, and at most {LARGEST:,} are read"
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, says)
    return source
