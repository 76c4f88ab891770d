import pytest
from fastapi import APIRouter, FastAPI
from fastapi.testclient import TestClient

from app import api, web
from app.network.routes import LazyRoute

PARTS = (*web.PARTS, *api.PARTS)
ROUTES = [route for part in PARTS for route in part.router.routes if isinstance(route, LazyRoute)]


def test_a_route_is_analyzed_for_its_first_request() -> None:
    router = APIRouter(prefix="/twice", route_class=LazyRoute)

    @router.get("/{number}", name="double")
    async def endpoint(number: int, plus: int = 0) -> int:
        """Twice as much."""
        return 2 * number + plus

    app = FastAPI()
    app.router.routes.extend(router.routes)
    route = router.routes[0]
    assert "dependant" not in vars(route)
    client = TestClient(app)
    assert client.get("/twice/4?plus=1").json() == 9
    assert "dependant" in vars(route)
    assert client.get("/twice/four").status_code == 422
    assert client.post("/twice/4").status_code == 405
    assert app.url_path_for("double", number=3) == "/twice/3"
    described = app.openapi()["paths"]["/twice/{number}"]["get"]
    assert described["description"] == "Twice as much."
    with pytest.raises(AttributeError):
        route.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_every_route_is_lazy_and_can_be_analyzed() -> None:
    assert len(ROUTES) == sum(len(part.router.routes) for part in PARTS) > 160
    assert all(route.dependant.call is route.endpoint for route in ROUTES)


def test_the_largest_number_of_a_row_is_one_of_an_address(client: TestClient) -> None:
    assert client.get(f"/classes/{2**63 - 1}").status_code == 303, "to the page for signing in"
    assert client.get("/classes/9999999999999999999").status_code == 303
