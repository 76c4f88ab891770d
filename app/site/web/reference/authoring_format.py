"""/authoring: the format of exercise files, from the schema that validates them."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from fastapi import Request, Response
from markupsafe import Markup
from pydantic.fields import FieldInfo

from app.core.folders import ROOT
from app.core.translation import translate
from app.course.illustrations import ILLUSTRATIONS, listed_inputs
from app.course.kinds import KINDS, Base
from app.server.network.routes import Router
from app.site.markdown import inline_html
from app.site.web.frame.renderer import frame, render

router = Router()
_NOT_WRITTEN = ("id", "digest", "chapter_parameters", "kind")


@dataclass(frozen=True, slots=True)
class FileKey:
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
    keys: tuple[FileKey, ...]
    sample: str
    sample_name: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure for prompts: what it shows, and what it is drawn from."""

    name: str
    says: str
    inputs: str


@dataclass(frozen=True, slots=True)
class AuthoringPage:
    """The keys that all kinds share, each kind, and each figure for prompts."""

    common: tuple[FileKey, ...]
    kinds: tuple[Kind, ...]
    figures: tuple[Figure, ...]


@router.get("/authoring")
def authoring(request: Request) -> Response:
    """How to write an exercise."""
    says = translate("One YAML file is one exercise: its keys, its kinds and a sample of each.")
    return render(
        "reference/authoring.html", frame(request, translate("Write exercises"), says), _authoring_format_page()
    )


@cache
def _authoring_format_page() -> AuthoringPage:
    common = tuple(_keys(Base.model_fields))
    kinds = []
    for name, kind in KINDS.items():
        own = {n: f for n, f in kind.model_fields.items() if n not in Base.model_fields}
        text = (ROOT / "exercises" / f"{kind.sample}.yaml").read_text(encoding="utf-8")
        says = inspect.getdoc(kind) or ""
        kinds.append(Kind(name, translate(kind.kind_title), says, tuple(_keys(own)), text, kind.sample))
    figures = (Figure(name, one.says, listed_inputs(one)) for name, one in sorted(ILLUSTRATIONS.items()))
    return AuthoringPage(common, tuple(kinds), tuple(figures))


def _keys(fields: dict[str, FieldInfo]) -> Iterator[FileKey]:
    for name, field in fields.items():
        if name not in _NOT_WRITTEN:
            says = (field.description or "").replace("{", "`{").replace("}", "}`")
            yield FileKey(field.alias or name, inline_html(says), field.is_required())
