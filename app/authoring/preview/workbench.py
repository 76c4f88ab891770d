"""The files that are edited, and the site that shows them."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from secrets import compare_digest, token_hex
from typing import Annotated

from fastapi import Header, Request
from starlette.exceptions import HTTPException

from app.authoring.lint import Linted
from app.authoring.preview.drafts import SEEDS, Drafts, Proof
from app.authoring.preview.files import FileText, read_text
from app.authoring.preview.thread_runs import LatestWork, SupersededError
from app.core.errors import ContentError, NotFoundError
from app.core.yaml_file import read_bytes
from app.course.content.files import topic_of
from app.course.sandbox.runner import Runner
from app.main import create_app
from app.server.aside import pay_nothing
from app.site import Site
from app.site.web.frame.origin import from_here
from app.site.web.frame.renderer import Hyperlink

_NO_KEY = "open the address that `wallclock preview` has printed: it has the key of this page"
_SUPERSEDED = "a later text of this page is being checked"


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

    def __init__(self, folder: Path, files: dict[str, Path], site: Site, key: str, *, locked: bool) -> None:
        """The *files* of a *folder*; only who knows the *key* may send texts and, if they are *locked*, read them."""
        self.app = create_app(site=site, framed=True)
        self.drafts = Drafts(self.app)
        self.folder = folder
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
        path = self.file(name)
        address = f"/exercises/{topic_of(path)}/{path.stem}"
        return PreviewPage(
            name=path.stem,
            path=str(path),
            file=replace(read_text(path), text="") if self._locked else read_text(path),
            locked=self._locked,
            shown=self._is_shown(path),
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

        try:
            return await self._latest.result(page, work)
        except SupersededError:
            raise HTTPException(HTTPStatus.CONFLICT, _SUPERSEDED) from None

    async def stored_proof(self, name: str) -> Proof:
        """The proof of the file called *name*."""
        path = self.file(name)
        try:
            source = read_bytes(path)
        except ContentError as error:
            return Proof(Linted(1, error.problems, ()), (), shown=False)
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

    def _is_shown(self, path: Path) -> bool:
        try:
            return self.drafts.show(path, read_bytes(path))
        except ContentError:
            return False
