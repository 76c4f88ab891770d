"""The JSON interface to a class, as a program with a token of it calls it."""

from dataclasses import dataclass
from typing import Any

from fastapi.testclient import TestClient

CLASSES = "/api/v1/classes"
RING = "collectives/ring-all-reduce-time"


@dataclass(frozen=True)
class Api:
    """A client with a token; paths are those of its class."""

    client: TestClient
    token: str
    class_id: int = 0

    def send(self, method: str, path: str = "", status: int = 200, **what: Any) -> Any:
        answer = self.client.request(
            method,
            path if path.startswith("/") and "api" in path else f"{CLASSES}/{self.class_id}{path}",
            headers={"Authorization": f"Bearer {self.token}"},
            **what,
        )
        assert answer.status_code == status, (answer.status_code, answer.text)
        if answer.headers.get("content-type") == "text/csv; charset=utf-8":
            return answer.text
        return answer.json() if answer.content else None
