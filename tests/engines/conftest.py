"""One server, and one window of each engine, for all tests of engines."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.browser.conftest import Server, serving
from tests.engines.engine import Engine
from tests.engines.firefox import Firefox
from tests.engines.webkit import WebKit
from tests.needs import need

ENGINES: Mapping[str, Callable[[Path], Engine]] = {"firefox": Firefox, "webkit": WebKit}


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A site of its own."""
    with serving(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture(scope="package", params=ENGINES)
def window(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A window of each engine; where one is not installed, its tests are left out."""
    need(request.param)
    made = ENGINES[request.param](tmp_path_factory.mktemp(request.param))
    yield made
    made.close()


@pytest.fixture
def engine(window: Engine, server: Server) -> Iterator[Engine]:
    """The window, on which nothing goes wrong."""
    window.site = server.url
    window.resize(1280)
    yield window
    assert window.errors() == []
