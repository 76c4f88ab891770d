"""Errors as problem documents (RFC 9457), and the OpenAPI description."""

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException

from app.core.quotation import shorten
from app.core.validation import model_in, problem_text, problems_of
from app.server.network.routes import Router, RouteTable
from app.server.network.watch import request_id
from app.site import site_in, status_of
from app.site.grading.offline import Submission

# A pattern of the paths that are for programs; of those under /api/, one page is for people.
OWNED = r"(?:/healthz|/livez|/readyz|/metrics)\Z|/api/(?!docs\Z)"
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


def problem_for(request: Request, error: Exception) -> Response:
    """The response to a request that raised *error*."""
    status = status_of(error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return problem(status, _detail(request, error, status), headers)


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """A response with a problem document."""
    title = HTTPStatus(status).phrase
    document = ProblemDocument(title=title, status=status, detail=shorten(detail))
    return JSONResponse(document.model_dump(), status, headers, media_type="application/problem+json")


def _detail(request: Request, error: Exception, status: int) -> str:
    if isinstance(error, RequestValidationError):
        if isinstance(error.body, bytes):  # FastAPI reads JSON only if it is called so
            return UNTYPED
        body = getattr(request.scope.get("route"), "body_field", None)  # as the route declares it
        return refusal(error.errors(), model_in(body.field_info.annotation) if body else None)
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


router = Router()
_TYPE = "application/problem+json"
_DEFAULT = "default"
_REFERENCE = "#/components/schemas/{model}"
_PROBLEM = {"$ref": _REFERENCE.format(model="ProblemDocument")}
_BINARY = "application/octet-stream"
SUBMISSION = {"$ref": _REFERENCE.format(model="Submission")}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a unique string for each answer, such as a UUID; remembered for a day",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_WHEN: dict[int, tuple[str, str]] = {
    400: ("invalid header or URL", "Idempotency-Key must be given once, with 1 to 255 ..."),
    401: ("no valid token", "a valid token is required: Authorization: Bearer wc_..."),
    403: ("not allowed", "a token of scope class or admin is required: wallclock token ..."),
    404: ("not found", "no exercise is called 'collectives/ring'; did you mean ...?"),
    412: ("changed in the meantime", "the assignment was changed in the meantime: GET ..."),
    413: ("too large", "an answer has at most 20,000 characters"),
    422: ("invalid input", "body.seed: must be a whole number, not 1.5"),
    503: ("unavailable", "the database is read-only; let this user write the file"),
}


def text_content(kind: str, example: str) -> dict[str, Any]:
    """The description of a text of that *kind*."""
    return {kind: {"schema": {"type": "string"}, "example": example}}


def text_body(kind: str, example: str) -> dict[str, Any]:
    """The description of a body of text that is sent as it is, as *kind* or as bytes.

    Programs that generate clients know few types, and leave out a call that takes none of them.
    """
    return {
        "required": True,
        "content": {**text_content(kind, example), _BINARY: {"schema": {"type": "string", "format": "binary"}}},
    }


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documented errors of an operation."""
    return {
        status: {
            "description": _WHEN[status][0],
            "content": {
                _TYPE: {
                    "schema": _PROBLEM,
                    "example": {
                        "type": "about:blank",
                        "title": _WHEN[status][0],
                        "status": status,
                        "detail": _WHEN[status][1],
                    },
                }
            },
        }
        for status in statuses
    }


@router.get("/api/v1/openapi.json", include_in_schema=False)
def openapi(request: Request) -> Response:
    """The description, written once."""
    state = request.app.state
    if not hasattr(state, "openapi"):
        state.openapi = json.dumps(request.app.openapi(), ensure_ascii=False).encode()
    return Response(state.openapi, media_type="application/json")


def describe_api(app: FastAPI, table: RouteTable) -> Callable[[], dict[str, Any]]:
    """A function for `app.openapi`: FastAPI's description of *app* with all routes of *table*, corrected."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            table.install_all()
            app.openapi_schema = _corrected(described())
        return app.openapi_schema

    return openapi


def _corrected(document: dict[str, Any]) -> dict[str, Any]:
    for operations in document["paths"].values():
        for operation in operations.values():
            # FastAPI adds a 422 of its own for an operation with parameters.
            if _TYPE not in operation["responses"].get("422", {}).get("content", {_TYPE: {}}):
                operation["responses"] |= {"422": responses(422)[422]}
            operation["responses"][_DEFAULT] = {
                "description": "any other error",
                "content": {_TYPE: {"schema": _PROBLEM}},
            }
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _, models = models_json_schema(
        [(Submission, "validation"), (ProblemDocument, "serialization")], ref_template=_REFERENCE
    )
    schemas |= models["$defs"]
    return document
