"""The page with the form of a new exercise, and what its script asks for."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request, Response

from app.authoring.preview.drafts import Proof
from app.authoring.preview.numeric_form import NumericDraft, numeric_text
from app.authoring.preview.workbench import AuthoringPreview
from app.authoring.starters import write_missing_topic, write_new
from app.core.errors import InputError
from app.course.content.files import topic_of
from app.course.content.pack_file import PACK_FILE
from app.course.content.parts import PARTS_FILE
from app.course.content.topic_file import TOPIC_FILE
from app.site.web.frame.renderer import frame, render

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_NOT_NAMED = "new-exercise"
_OTHERS = (TOPIC_FILE, PACK_FILE, PARTS_FILE)
_NAME_CURE = "Name the file in lowercase letters, digits and hyphens, not topic, pack or parts."


@dataclass(frozen=True, slots=True)
class NewExercisePage:
    """An empty form for a file of *folder*."""

    folder: str
    name: str


@dataclass(frozen=True, slots=True)
class FormDraft:
    """The file that a form makes, its proof, and the address of its exercise."""

    address: str
    text: str
    proof: Proof


def is_exercise_name(name: str) -> bool:
    """Whether *name*.yaml may be the file of an exercise."""
    return _NAME.fullmatch(name) is not None and f"{name}.yaml" not in _OTHERS


def form_routes(preview: AuthoringPreview) -> APIRouter:
    """What makes new files; only a page that has the key may send a form."""
    router = APIRouter(prefix="/preview/new")

    @router.get("")
    def empty(request: Request, name: str = "") -> Response:
        around = replace(frame(request, "New exercise"), arrives=False)
        page = NewExercisePage(str(preview.folder), name if is_exercise_name(name) else "")
        return render("authoring/new.html", around, page)

    @router.post("/draft", dependencies=[Depends(preview.admit)])
    async def draft(request: Request, page: str = "") -> Response:
        sent = await _form(request)
        path, text = _draft_path(preview, sent), numeric_text(NumericDraft.of(sent))
        proof = await preview.proof(path, text.encode(), page)
        address = f"/exercises/{topic_of(path)}/{path.stem}"
        found = FormDraft(address, text, proof)
        return render("authoring/draft.html", frame(request, "Proof"), found)

    @router.post("", dependencies=[Depends(preview.admit)])
    async def create(request: Request) -> Response:
        sent = await _form(request)
        return await asyncio.to_thread(_created, preview, sent)

    return router


async def _form(request: Request) -> Mapping[str, Sequence[str]]:
    text = (await request.body()).decode("utf-8", errors="replace")
    return parse_qs(text, keep_blank_values=True)


def _draft_path(preview: AuthoringPreview, sent: Mapping[str, Sequence[str]]) -> Path:
    """Where the file would be; elsewhere if its name is none yet, or that of another."""
    [name, *_] = sent.get("name", [""])
    is_free = is_exercise_name(name) and not (preview.folder / f"{name}.yaml").exists()
    return preview.folder / f"{name if is_free else _NOT_NAMED}.yaml"


def _created(preview: AuthoringPreview, sent: Mapping[str, Sequence[str]]) -> Response:
    """Write the file of the form, and say where it is edited."""
    [name, *_] = sent.get("name", [""])
    if not is_exercise_name(name):
        return _refusal(_NAME_CURE)
    try:
        path = write_new(preview.folder / f"{name}.yaml", numeric_text(NumericDraft.of(sent)))
        write_missing_topic(preview.folder)
    except InputError as error:
        return _refusal(str(error))
    preview.files[path.stem] = path
    return Response(name, HTTPStatus.CREATED, media_type="text/plain")


def _refusal(says: str) -> Response:
    return Response(says, HTTPStatus.UNPROCESSABLE_ENTITY, media_type="text/plain")
