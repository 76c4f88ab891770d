"""Calls the app as the server does, from the event loop that it runs in."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

ADDRESS = "192.0.2.1"


def json_body(row: Mapping[str, object]) -> bytes:
    return json.dumps(row).encode()


class Caller:
    """One POST request, whose client may go away before it is answered."""

    def __init__(
        self, app: Any, path: str, body: bytes | Sequence[bytes], token: str = "", cookie: str = "", key: str = ""
    ) -> None:
        self.sent: list[bytes] = []
        self.status = 0
        self._app, self._gone = app, asyncio.Event()
        self._body = [body] if isinstance(body, bytes) else list(body)
        kind = "application/json" if token else "application/x-www-form-urlencoded"
        headers = {"host": "localhost", "content-type": kind}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        headers |= {"cookie": cookie} if cookie else {}
        headers |= {"idempotency-key": key} if key else {}
        path, _, query = path.partition("?")
        self._scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "client": (ADDRESS, 5000), "server": ("localhost", 80),
            "scheme": "http", "http_version": "1.1", "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip

    def go_away(self) -> None:
        self._gone.set()

    async def answer(self) -> bytes:
        await self._app(self._scope, self._receive, self._send)
        return b"".join(self.sent)

    async def _receive(self) -> dict[str, object]:
        await asyncio.sleep(0)
        if self._body and not self._gone.is_set():
            body = self._body.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self._body)}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)
        self.sent.append(message.get("body", b""))
