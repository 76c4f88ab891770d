"""/authoring: the format of exercise files, from the schema that validates them."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import get_args

from fastapi import APIRouter, Request, Response
from markupsafe import Markup
from pydantic.fields import FieldInfo

from app.config import ROOT
from app.kinds import Base, Exercise
from app.markdown import inline_html
from app.web.frame.rendering import frame, render
from app.web.progress.standing import KINDS

router = APIRouter()
_NOT_WRITTEN = ("id", "digest", "kind")
_SAMPLES = {
    "numeric": "collectives/bytes-sent-by-a-ring",
    "expression": "collectives/derive-the-volume",
    "choice": "memory/fsdp-default",
    "match": "diagnosis/technique-and-lever",
    "order": "collectives/steps-of-a-ring",
    "buggy_line": "collectives/estimate-off-by-a-factor",
    "function": "collectives/write-ring-time",
    "design": "memory/the-mildest-stage",
    "lab": "collectives/count-the-ring",
}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an exercise file."""

    name: str
    says: Markup
    needed: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind, with its own keys and a complete sample file."""

    name: str
    title: str
    says: str
    keys: tuple[Key, ...]
    sample: str
    sample_name: str


@dataclass(frozen=True, slots=True)
class AuthoringPage:
    """The keys that all kinds share, and each kind."""

    common: tuple[Key, ...]
    kinds: tuple[Kind, ...]


@router.get("/authoring")
async def authoring(request: Request) -> Response:
    """How to write an exercise."""
    says = "One YAML file is one exercise: its keys, its kinds and a sample of each."
    return render("authoring.html", frame(request, "Write exercises", says), _page())


@cache
def _page() -> AuthoringPage:
    common = tuple(_keys(Base.model_fields))
    kinds = []
    for kind in get_args(Exercise):
        own = {n: f for n, f in kind.model_fields.items() if n not in Base.model_fields}
        name = get_args(kind.model_fields["kind"].annotation)[0]
        sample = _SAMPLES[name]
        text = (ROOT / "exercises" / f"{sample}.yaml").read_text(encoding="utf-8")
        says = inspect.getdoc(kind) or ""
        kinds.append(Kind(name, KINDS[name], says, tuple(_keys(own)), text, sample))
    return AuthoringPage(common, tuple(kinds))


def _keys(fields: dict[str, FieldInfo]) -> Iterator[Key]:
    for name, field in fields.items():
        if name not in _NOT_WRITTEN:
            says = (field.description or "").replace("{", "`{").replace("}", "}`")
            yield Key(field.alias or name, inline_html(says), field.is_required())
