"""Errors as problem documents (RFC 9457)."""

from collections.abc import Iterable
from http import HTTPStatus
from itertools import islice

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from app.core.errors import (
    AnswerError,
    AppError,
    ContentError,
    InputError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)
from app.core.quotation import shortened
from app.core.validation import model_in, problem_text, problems_of
from app.server.network.watch import request_id
from app.site import site_in

# A pattern of the paths that are for programs; of those under /api/, one page is for people.
OWNED = r"(?:/healthz|/livez|/readyz|/metrics)\Z|/api/(?!docs\Z)"
_STATUS: dict[type[AppError], int] = {
    NotFoundError: 404,
    AnswerError: 422,
    InputError: 422,
    RefusedError: 400,
    UnavailableError: 503,
    ContentError: 500,
}
_HIDDEN = "something went wrong in the server; its log has the details under request {}"
UNTYPED = "body: send the header Content-Type: application/json"
_MOST = 5  # problems that are told at once
_PERHAPS_LOST = "what was sent may not have been stored"


class ProblemDocument(BaseModel):
    """The body of every error response (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


def status_of(error: Exception) -> int:
    """The HTTP status for *error*."""
    if isinstance(error, HTTPException):
        return error.status_code
    if isinstance(error, RequestValidationError):
        return 422
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)


def problem_for(request: Request, error: Exception) -> Response:
    """The response to a request that raised *error*."""
    status = status_of(error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return problem(status, _detail(request, error, status), headers)


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """A response with a problem document."""
    title = HTTPStatus(status).phrase
    document = ProblemDocument(title=title, status=status, detail=shortened(detail))
    return JSONResponse(document.model_dump(), status, headers, media_type="application/problem+json")


def _detail(request: Request, error: Exception, status: int) -> str:
    if isinstance(error, RequestValidationError):
        if isinstance(error.body, bytes):  # FastAPI reads JSON only if it is called so
            return UNTYPED
        return refusal(error.errors(), _body_model(request))
    if isinstance(error, HTTPException):
        if status == HTTPStatus.NOT_FOUND and error.detail == "Not Found":
            docs = f"{site_in(request).settings.prefix}/api/docs"
            return f"there is nothing at {request.url.path}; see {docs}"
        return str(error.detail)
    says = str(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        says = _HIDDEN.format(request_id(request.scope))
    lost = status >= HTTPStatus.INTERNAL_SERVER_ERROR and request.method != "GET"
    return f"{says.rstrip('.')}; {_PERHAPS_LOST}" if lost else says


def refusal(errors: Iterable[ErrorDetails], model: type[BaseModel] | None, within: str = "") -> str:
    """The first problems of values for *model*, which are the part of a request called *within*."""
    around = (within,) if within else ()
    found = islice(problems_of(errors, model), _MOST)
    return "; ".join(problem_text((*around, *where), says) for where, says in found)


def _body_model(request: Request) -> type[BaseModel] | None:
    """The model of the body, as the route of *request* declares it."""
    body = getattr(request.scope.get("route"), "body_field", None)
    return model_in(body.field_info.annotation) if body else None
