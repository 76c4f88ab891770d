from collections.abc import Callable, Iterator
from secrets import token_hex

import pytest
from fastapi.testclient import TestClient
from sqlmodel import Session

from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session, open_writing_session
from app.site import Site
from tests.api.class_api import CLASSES, Api


@pytest.fixture
def session(site: Site) -> Iterator[Session]:
    """A session whose changes are taken back at the end."""
    with open_writing_session(site.engine) as made:
        yield made
        made.rollback()


@pytest.fixture
def made(client: TestClient, site: Site) -> Callable[[], Api]:
    """Makes a class, and a token of it."""

    def make() -> Api:
        name = token_hex(8)
        with open_session(site.engine) as session:
            admin = create_token(session, f"admin {name}", "admin")
        body = {"name": "Systems", "zone": "Europe/Berlin", "teacher": "Grace Hopper"}
        row = Api(client, admin).send("POST", CLASSES, 201, json=body)
        with open_session(site.engine) as session:
            token = create_token(session, f"class {name}", "class", row["id"])
        return Api(client, token, row["id"])

    return make
