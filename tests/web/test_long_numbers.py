"""Numbers of any length in addresses and forms: never a failure of the server, whoever asks."""

import inspect
from collections.abc import Iterator, Sequence

import pytest
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute, Route

from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.site import Site
from app.site.web.frame.visitor import SESSION
from tests.each import each
from tests.web.a_class import a_class

# Those that fit no column, those that Python does not read, and digits of others.
NUMBERS = ("2147483648", str(2**63), "9" * 4_301, "0" * 4_300 + "1", "-1", "٣", "²")
# What routes read as a number by themselves.
READ = {"seed", "page", "at", "again", "stored", "assignment", "person", "code", "begun", "number"}
READ |= {"after", "limit", "chapter", "more", "question", "draw", "place", "batch", "gpus"}


def routes(found: Sequence[BaseRoute]) -> Iterator[Route]:
    for route in found:
        yield from routes(getattr(route, "routes", None) or ())
        if isinstance(route, Route):
            yield route


def addresses(route: Route, class_id: int, number: str) -> Iterator[str]:
    """The address of *route* with *number* in the place of each part, and of each number asked."""
    parts = {name: str(class_id) if name == "class_id" else "1" for name in route.param_convertors}
    for name in parts:
        yield route.path_format.format_map({**parts, name: number})
    for name, one in inspect.signature(route.endpoint).parameters.items():
        is_number = "int" in str(one.annotation) and name not in parts
        if is_number or name in READ - set(parts):
            yield f"{route.path_format.format_map(parts)}?{name}={number}"


@pytest.mark.slow(20)
@each("number", NUMBERS, ids=lambda number: f"{number[:20]} ({len(number)})")
def test_a_number_of_any_length_is_an_answer_of_every_route(client: TestClient, site: Site, number: str) -> None:
    class_id, teacher = a_class(client, site)
    with open_session(site.engine) as session:
        token = create_token(session, f"numbers {number[:9]} {len(number)}", "admin")
    headers = {"Authorization": f"Bearer {token}", "Origin": "http://testserver"}
    asked = 0
    client.app.state.routes.install_all()  # type: ignore[attr-defined]
    for route in routes(client.app.routes):  # type: ignore[attr-defined]
        for address in addresses(route, class_id, number):
            for method in sorted(set(route.methods or ()) - {"HEAD"}):
                client.cookies.clear()
                client.cookies.set(SESSION, teacher.cookie)
                sent = {} if method == "GET" else {"data": dict.fromkeys(READ, number)}
                answer = client.request(method, address, headers=headers, **sent)  # type: ignore[arg-type]
                assert answer.status_code != 500, (method, address[:100])
                asked += 1
    assert asked > 150
