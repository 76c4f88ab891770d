"""How the description of the interface shows errors."""

from typing import Any

from app.api.problems import ProblemDocument

_WHEN = {
    401: ("no valid token", "a valid token is wanted: Authorization: Bearer wc_..."),
    404: ("unknown name", "no exercise is called 'collectives/ring'; did you mean ...?"),
    413: ("too large", "an answer has at most 20,000 characters"),
    422: ("malformed", "body.seed: Input should be a valid integer"),
    503: ("out of order", "the database is read-only; let this user write the file"),
}


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documented errors of an operation."""
    return {
        status: {
            "description": _WHEN[status][0],
            "model": ProblemDocument,
            "content": {
                "application/problem+json": {
                    "example": {
                        "type": "about:blank",
                        "title": _WHEN[status][0],
                        "status": status,
                        "detail": _WHEN[status][1],
                    }
                }
            },
        }
        for status in statuses
    }
