"""/api/docs: the reference of the JSON interface."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from app.core.translation import translate
from app.server.network.routes import Router
from app.site.web.frame.renderer import frame, render

router = Router()


@dataclass(frozen=True, slots=True)
class DocumentedResponse:
    """One status that an operation may respond with."""

    status: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the API."""

    method: str
    path: str
    summary: str
    description: str
    example: str
    token: bool
    answers: tuple[DocumentedResponse, ...]


@router.get("/api/docs")
def api_docs(request: Request) -> Response:
    """Every operation, from the OpenAPI document."""
    described = request.app.openapi()
    operations = tuple(
        _operation(path, method, operation, described)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    )
    says = translate("Check answers from a program: one at a time or in a stream.")
    return render("reference/api.html", frame(request, translate("JSON interface"), says), operations)


def _operation(path: str, method: str, operation: Mapping[str, Any], described: Mapping[str, Any]) -> Operation:
    answers = operation.get("responses", {}).items()
    return Operation(
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        description=operation.get("description", ""),
        example=_example(operation, described),
        token=bool(operation.get("security")),
        answers=tuple(DocumentedResponse(status, answer["description"]) for status, answer in answers),
    )


def _example(operation: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        if reference := schema.get("$ref"):
            schema = described["components"]["schemas"][reference.rpartition("/")[2]]
        example = content.get("example") or next(iter(schema.get("examples", [])), None)
        if isinstance(example, str):
            return example.strip()
        if example:
            return json.dumps(example)
    return ""
