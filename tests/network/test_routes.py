import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread
from types import SimpleNamespace

import pytest
from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.testclient import TestClient
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.server.aside import run_beside
from app.server.network import routes as routes_module
from app.server.network.routes import LARGEST, LateModule, NumberConvertor, Router, RouteTable, methods_at
from tests.each import each
from tests.parts import CALLS, PAGES
from tests.waiting import until


def test_a_plain_function_is_called_aside_and_a_coroutine_on_the_event_loop() -> None:
    router = Router(prefix="/threads", tags=["threads"])

    @router.get("/{number}", name="plain")
    def plain(number: int) -> str:
        """Where a plain function runs."""
        return f"{number} {current_thread().name}"

    @router.post("/{number}")
    async def coroutine(number: int) -> str:
        return f"{number} {current_thread().name}"

    app = FastAPI()
    app.router.routes.extend(router.routes)
    client = TestClient(app)
    assert client.get("/threads/4").json().startswith("4 asyncio_"), "and not a thread of FastAPI"
    assert "asyncio_" not in client.post("/threads/4").json()
    assert client.get("/threads/four").status_code == 422
    assert client.put("/threads/4").status_code == 405
    assert app.url_path_for("plain", number=3) == "/threads/3"
    described = app.openapi()["paths"]["/threads/{number}"]["get"]
    assert described["description"] == "Where a plain function runs."


def test_the_routes_of_every_part_are_called_so() -> None:
    routers = [part.router for part in (*PAGES, *CALLS)]
    assert all(isinstance(router, Router) for router in routers)
    assert sum(len(router.routes) for router in routers) > 160


def test_a_module_answers_the_first_parts_of_paths_that_it_is_listed_with() -> None:
    for module in (*PAGES, *CALLS):
        heads = {route.path.split("/")[1] for route in module.router.routes if isinstance(route, Route)}
        assert set(module.heads) == heads, module.name


def test_the_largest_number_of_a_row_is_one_of_an_address(client: TestClient) -> None:
    assert client.get(f"/classes/{2**63 - 1}").status_code == 303, "to the page for signing in"
    assert client.get("/classes/9999999999999999999").status_code == 303


@each(
    ("method", "path", "taken"),
    [
        ("GET", "/exercises/a", "one"),
        ("POST", "/exercises/a", "answers"),
        ("GET", "/exercises/new", "new"),
        ("GET", "/", "home"),
        ("GET", "/nowhere/new", ""),
        ("PUT", "/exercises/a", ""),
        ("GET", "/exercises/a/b", ""),
    ],
)
def test_a_table_takes_the_route_that_comes_first_in_the_list(
    method: str, path: str, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {
        "new": ("/exercises/new", "GET"),
        "one": ("/exercises/{name}", "GET"),
        "answers": ("/exercises/{name}", "POST"),
        "home": ("/", "GET"),
    }
    routes = [Route(at, PlainTextResponse, methods=[verb], name=name) for name, (at, verb) in named.items()]
    monkeypatch.setitem(sys.modules, "listed", SimpleNamespace(router=SimpleNamespace(routes=routes)))
    table = RouteTable(FastAPI(), [LateModule("listed", ("", "exercises"))])
    table.install_all()
    _, scope = table.matches({"type": "http", "method": method, "path": path})
    assert getattr(scope.get("route"), "name", "") == taken


def test_two_threads_that_ask_for_every_module_install_each_route_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowRoutes(list[Route]):
        def __iter__(self) -> Iterator[Route]:
            time.sleep(0.05)
            return super().__iter__()

    routes = SlowRoutes([Route("/one", PlainTextResponse)])
    monkeypatch.setitem(sys.modules, "listed", SimpleNamespace(router=SimpleNamespace(routes=routes)))
    app = FastAPI()
    table = RouteTable(app, [LateModule("listed", ("one",))])
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(table.install_all) for _ in range(2)]
    assert [one.exception() for one in both] == [None, None]
    assert [route.path for route in app.router.routes if isinstance(route, Route)].count("/one") == 1


@each(
    ("text", "number"),
    [("7", 7), ("0" * 39 + "7", 7), ("0" * 40 + "7", LARGEST), (str(2**63 - 2), 2**63 - 2), (str(2**63), 2**63 - 1),
     ("9" * 5000, 2**63 - 1)],
)  # fmt: skip
def test_a_number_in_a_path_is_at_most_that_of_a_row(text: str, number: int) -> None:
    assert NumberConvertor().convert(text) == number


def test_an_endpoint_that_asks_for_the_request_alone_still_has_its_methods_and_dependencies() -> None:
    def refuse() -> None:
        raise HTTPException(418)

    router = Router()

    @router.get("/plain", tags=["calls"])
    async def plain(request: Request) -> Response:
        return PlainTextResponse(request.url.path)

    @router.post("/guarded", dependencies=[Depends(refuse)])
    async def guarded(request: Request) -> Response:
        return PlainTextResponse("no")

    @router.get("/hidden", tags=["calls"], include_in_schema=False, name="another")
    async def hidden(request: Request) -> Response:
        return PlainTextResponse("here")

    app = FastAPI()
    app.router.routes.extend(router.routes)
    client = TestClient(app)
    answers = [client.get("/plain"), client.post("/plain"), client.post("/guarded"), client.get("/guarded")]
    assert [one.status_code for one in answers] == [200, 405, 418, 405]
    assert (answers[0].text, client.get("/hidden").text) == ("/plain", "here")
    assert [*app.openapi()["paths"]] == ["/plain"], "a page, which has no tag, is not described"
    assert (app.url_path_for("another"), app.url_path_for("guarded")) == ("/hidden", "/guarded")


@each(
    ("path", "methods"),
    [("/a/1", ["GET", "HEAD", "POST"]), ("/a/b", ["DELETE", "GET", "HEAD", "POST"]), ("/c", ["PUT"]), ("/d", [])],
)
def test_the_methods_at_a_path_are_those_of_all_its_routes(path: str, methods: list[str]) -> None:
    given = [("/a/{x}", "GET"), ("/a/{x}", "POST"), ("/a/b", "DELETE"), ("/c", "PUT")]
    routes = [Route(at, PlainTextResponse, methods=[verb]) for at, verb in given]
    for sent in ("GET", "PUT"):
        assert methods_at(routes, {"type": "http", "method": sent, "path": path}) == methods


def listed(patch: pytest.MonkeyPatch) -> tuple[FastAPI, RouteTable]:
    """An app of two modules: `one` has `/a` and `/b/x`, `two` has `/b/{name}` and `/c`."""

    def answer(text: str) -> Callable[[Request], PlainTextResponse]:
        return lambda request: PlainTextResponse(text)

    for module, paths in (("one", ("/a", "/b/x")), ("two", ("/b/{name}", "/c"))):
        made = [Route(path, answer(f"{module} {path}")) for path in paths]
        patch.setitem(sys.modules, module, SimpleNamespace(router=SimpleNamespace(routes=made)))
    app = FastAPI()
    return app, RouteTable(app, [LateModule("one", ("a", "b")), LateModule("two", ("b", "c"))])


def installed(app: FastAPI) -> set[str]:
    return {route.path for route in app.router.routes if isinstance(route, Route)} & {"/a", "/b/x", "/b/{name}", "/c"}


def test_a_request_installs_the_routes_of_its_first_part_and_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = listed(monkeypatch)
    client = TestClient(app)
    assert installed(app) == set()
    assert client.get("/a").text == "one /a"
    assert installed(app) == {"/a"}
    assert [client.get(path).text for path in ("/b/x", "/b/y", "/a")] == ["one /b/x", "two /b/{name}", "one /a"]
    assert installed(app) == {"/a", "/b/x", "/b/{name}"}
    assert [client.get(path).status_code for path in ("/b", "/nothing", "/c/d")] == [404, 404, 404]
    assert client.post("/a").status_code == 405


def test_what_nobody_asks_for_is_installed_soon_after_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async def started(pause: float) -> set[str]:
        monkeypatch.setattr(routes_module, "_AFTER_START", pause)
        app, table = listed(monkeypatch)
        async with run_beside(table.import_late()):
            await until(lambda: pause or len(installed(app)) == 4)
        return installed(app)

    assert asyncio.run(started(0)) == {"/a", "/b/x", "/b/{name}", "/c"}
    assert asyncio.run(started(60)) == set()
