import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.server.network.routes import LateModule, Router, RouteTable
from tests.each import each
from tests.parts import CALLS, PAGES


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
