"""The OpenAPI description: errors as they are sent, and what FastAPI cannot infer."""

import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic.json_schema import models_json_schema

from app.server.network.routes import Router
from app.site.api.problems import ProblemDocument
from app.site.grading.verdicts import Submission

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


def describing(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """A function for `app.openapi`: FastAPI's description of *app*, corrected."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
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
