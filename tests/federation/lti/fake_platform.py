"""The services of a platform that does what a test says: refuses, fails, forgets, is slow."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.waiting import until, wait_until

Odd = Callable[[str], Response | None]


@dataclass
class FakePlatform:
    """What has arrived; *odd* may answer a call by its name instead: token, items, make, score."""

    url: str = ""
    scores: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    made: int = 0
    changed: int = 0
    tokens: int = 0
    valid: str = ""
    refused: set[str] = field(default_factory=set)
    odd: Odd = lambda name: None
    about: dict[str, Any] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=list)
    registered: tuple[str, dict[str, Any]] = ("", {})
    held: bool = False  # it gives no token until this is false
    roster: list[dict[str, Any]] = field(default_factory=list)  # all in one page, if there is any
    active: int = 0
    most: int = 0

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/token", self.token, methods=["POST"]),
                Route("/items", self.line_items, methods=["GET", "POST"]),
                Route("/items/{number}", self.line_item, methods=["GET", "PUT"]),
                Route("/items/{number}/scores", self.score, methods=["POST"]),
                Route("/members", self.members),
                Route("/config", self.config),
                Route("/keys", self.key_set),
                Route("/register", self.register, methods=["POST"]),
            ]
        )

    async def token(self, request: Request) -> Response:
        await until(lambda: not self.held)
        if odd := self.odd("token"):
            return odd
        form = await request.form()
        self.tokens += 1
        self.valid = f"token-{self.tokens}"
        return JSONResponse({"access_token": self.valid, "expires_in": 3600, "scope": str(form["scope"])})

    async def line_items(self, request: Request) -> Response:
        name = "items" if request.method == "GET" else "make"
        await request.body()
        if odd := self.odd(name):
            return odd
        if name == "items":
            tag, link = request.query_params["tag"], request.query_params["resource_link_id"]
            return JSONResponse([i for i in self.items if (i["tag"], i["resourceLinkId"]) == (tag, link)])
        item = await request.json()
        self.made += 1
        item["id"] = f"{self.url}/items/{self.made}?type=1"
        self.items.append(item)
        return JSONResponse(item, 201)

    async def line_item(self, request: Request) -> Response:
        if odd := self.odd("read" if request.method == "GET" else "change"):
            return odd
        there = f"/items/{request.path_params['number']}?"
        known = next((item for item in self.items if there in item["id"]), None)
        if known is None:
            return Response("gone", 404)
        if request.method == "PUT":
            assert request.headers["content-type"] == "application/vnd.ims.lis.v2.lineitem+json"
            self.changed += 1
            known.clear()
            known.update(await request.json())
        return JSONResponse(known)

    async def score(self, request: Request) -> Response:
        self.active += 1
        self.most = max(self.most, self.active)
        try:
            await asyncio.sleep(0)
            return await self._score(request)
        finally:
            self.active -= 1

    async def _score(self, request: Request) -> Response:
        if odd := self.odd("score"):
            return odd
        if request.headers["authorization"] != f"Bearer {self.valid}":
            return Response("forgotten", 403)  # as Open edX says it
        given = await request.json()
        there = f"/items/{request.path_params['number']}"
        if not any(there in item["id"] for item in self.items):
            return Response("gone", 404)
        if given["userId"] in self.refused:
            return Response(json.dumps({"error": "this user is not in the course"}), 422)
        before = [one["timestamp"] for one in self.scores if one["userId"] == given["userId"]]
        if before and max(before) >= given["timestamp"]:
            return Response("not later than the last one", 409)
        self.scores.append(given)
        return Response(status_code=204)

    async def members(self, request: Request) -> Response:
        if self.roster:
            return JSONResponse({"members": self.roster})
        page = int(request.query_params.get("page", "1"))
        people = [{"user_id": f"p{page}-{n}", "roles": ["Learner"], "name": f"P {n}"} for n in range(3)]
        follow = {1: "/members?page=2", 2: "https://elsewhere.example/members?page=3"}.get(page, "")
        there = follow if follow.startswith("https") else self.url + follow
        link = {"Link": f'<{self.url}/members>; rel="first", <{there}>; rel="next"'} if follow else {}
        return JSONResponse({"members": people}, headers=link)

    async def config(self, request: Request) -> Response:
        names = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
        about = {name: f"{self.url}/{path}" for name, path in names.items()}
        about |= {"issuer": self.url, "registration_endpoint": f"{self.url}/register"}
        return JSONResponse({**about, **self.about})

    async def key_set(self, request: Request) -> Response:
        return JSONResponse({"keys": self.keys})

    async def register(self, request: Request) -> Response:
        self.registered = (request.headers.get("authorization", ""), await request.json())
        if odd := self.odd("register"):
            return odd
        tool = {"https://purl.imsglobal.org/spec/lti-tool-configuration": {"deployment_id": "7"}}
        return JSONResponse({"client_id": "given", **tool}, 201)


@contextmanager
def fake_platform() -> Iterator[FakePlatform]:
    made = FakePlatform()
    server = uvicorn.Server(uvicorn.Config(made.app(), port=0, lifespan="off", log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    made.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join()
