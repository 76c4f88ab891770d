"""The numbers that a learner sets for a chapter: a form, its answer, and how it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.errors import AppError, InputError
from app.course.content.catalog import Topic
from app.course.kinds.drawn_values import seed_choice, seed_of_choice
from app.site.web.urls import chapter_url, seed_of

_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer
_SEED = "seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterField:
    """A parameter of a chapter in its form; *among* are the rows to pick from, if it has any."""

    name: str
    label: str
    value: str
    among: tuple[str, ...]
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterChoiceForm:
    """The form of the parameters of a chapter, with what is wrong with the choice, if anything."""

    action: str
    fields: tuple[ParameterField, ...]
    faults: tuple[str, ...]
    is_default: bool


def choice_form(topic: Topic, request: Request, seed: int) -> ChapterChoiceForm | None:
    """The form of *topic*, with the choice of *seed*, or what *request* gives instead."""
    if not topic.parameters:
        return None
    given = _given(topic, request)
    faults: tuple[str, ...] = ()
    try:
        _choice(topic, given)
    except InputError as error:
        faults = tuple(str(error).splitlines())
    now = {**seed_choice(topic.parameters, seed), **given}
    fields = tuple(
        ParameterField(
            name=name, label=one.says, value=now[name], among=tuple(one.among), hint="" if one.among else one.bounds
        )
        for name, one in topic.parameters.items()
    )
    return ChapterChoiceForm(action=chapter_url(topic.id), fields=fields, faults=faults, is_default=seed == 0)


def chosen_here(topic: Topic, request: Request) -> Response | None:
    """The answer to a choice that is one: the page with it, and a cookie that keeps it."""
    given = _given(topic, request)
    if not topic.parameters or not given:
        return None
    try:
        seed = _choice(topic, given)
    except InputError:
        return None  # the page says what is wrong
    response = RedirectResponse(f"{chapter_url(topic.id, seed)}#parameters", 303)
    secure = request.url.scheme == "https"
    response.set_cookie(_cookie(topic.id), str(seed), _AGE, httponly=True, samesite="lax", secure=secure)
    return response


def seed_here(topic: Topic, request: Request) -> int:
    """The seed of the choice in the address of *request*, else that which is kept, else 0."""
    if not topic.parameters:
        return 0
    if text := request.query_params.get(_SEED):
        return seed_of(text)
    return kept_seed(request, topic.id)


def kept_seed(request: Request, topic: str) -> int:
    """The seed of the choice that the visitor made for the chapter *topic*; 0 without one."""
    try:
        return seed_of(request.cookies.get(_cookie(topic), "0"))
    except AppError:  # not from here
        return 0


def _cookie(topic: str) -> str:
    return f"chapter-{topic}"


def _given(topic: Topic, request: Request) -> Mapping[str, str]:
    return {name: text for name, text in request.query_params.items() if name in topic.parameters}


def _choice(topic: Topic, given: Mapping[str, str]) -> int:
    return seed_of_choice(topic.parameters, given) if given else 0
