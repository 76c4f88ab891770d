import asyncio
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import hypothesis
import pytest
from fastapi.testclient import TestClient
from xdist.scheduler import LoadFileScheduling

from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.content.course import read_course
from app.course.sandbox.runner import Runner
from app.main import create_app
from app.server.config import Settings
from app.server.db.learner_cookie import create_token
from app.server.db.session import open_session
from app.site import Site
from tests.client import Client, until_ready
from tests.transactions import watch

# The same examples on every machine, however slow; `pytest --hypothesis-profile=explore` draws others.
_PATIENT = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("steady", _PATIENT, derandomize=True)
hypothesis.settings.register_profile("explore", _PATIENT, max_examples=1000)
hypothesis.settings.load_profile("steady")

# Servers in processes of their own; a test that needs more workers says so.
os.environ.setdefault("WALLCLOCK_SANDBOX_WORKERS", "2")
# All tests have one address; a test of budgets sets one.
os.environ.setdefault("WALLCLOCK_PROCESSOR_ALLOWED", "0")
# Beside other tests, threads of torch would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Files that share what is slow to start: a browser and its server, a process that has torch.
# Those of the browser are three groups of five minutes: one would take longer than all else.
TOGETHER = (
    *(("pages", f"tests/browser/test_{name}.py") for name in ("english", "pages", "style")),
    *(("figures", f"tests/browser/test_{name}.py") for name in ("explorers", "figures", "labs", "wide")),
    ("browser", "tests/browser/"),
    ("exporting", "tests/exporting/"),
    ("engines", "tests/engines/"),
    *(("ranks", f"tests/labs/test_{name}.py") for name in ("labs", "limits")),
    *(("forms", f"tests/labs/test_{name}.py") for name in ("gpu_forms", "running", "check")),
)

pytest_plugins = ["tests.garbage", "tests.needs"]
watch()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", metavar="SEED", help="run files and their tests in a drawn order")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    """Draw a first example, at which Hypothesis asks the collector of garbage who has its generator.

    Later, no one would seem to have it: what is there when the tests begin is frozen.
    """
    hypothesis.given(hypothesis.strategies.none())(_nothing)()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker starts to import the files at another one.

    In a fresh checkout, all compile them; this way each finds most of them compiled by another.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        files = sorted((ROOT / "tests").rglob("test_*.py"))
        start = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        for path in files[start:] + files[:start]:
            with suppress(Exception):  # the collection says which, and why
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The slowest files first, so that no worker is alone with one at the end."""
    if seed := config.getoption("--shuffle"):
        _shuffle(items, random.Random(seed))
        return
    seconds = {file: max(map(_seconds, found)) for file, found in _by_file(items).items()}
    items.sort(key=lambda item: -seconds[item.path])


class _Together(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """A worker gets a whole file, or all files of a group."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((group for group, start in TOGETHER if file.startswith(start)), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling:
    """The scheduler of the tests that several workers share."""
    return _Together(config, log)


def _nothing(_: None) -> None:
    """What is true of every example."""


def _by_file(items: list[pytest.Item]) -> dict[Path, list[pytest.Item]]:
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return files


def _seconds(item: pytest.Item) -> float:
    """Seconds that the file of a slow test takes, as its marker says."""
    slow = item.get_closest_marker("slow")
    return float(slow.args[0]) if slow else 0.0


def _shuffle(items: list[pytest.Item], source: random.Random) -> None:
    """Files in a drawn order, and the tests of each, which share what was set up for the file."""
    files = list(_by_file(items).values())
    source.shuffle(files)
    for found in files:
        source.shuffle(found)
    items[:] = [item for found in files for item in found]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return read_course(Settings())


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture(scope="session")
def runner(loop: asyncio.AbstractEventLoop) -> Iterator[Runner]:
    """The real sandbox; its component stays in the user's cache, so only a first run builds it."""
    made = Runner(Settings(sandbox_workers=4))
    try:
        loop.run_until_complete(made.start())
        health = loop.run_until_complete(made.ready())
        assert health.state == "ready", health.says
        yield made
    finally:
        loop.run_until_complete(made.close())


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("site")
    return Settings(
        database=f"sqlite:///{folder / 'wallclock.db'}",
        sandbox_workers=2,
        runs=folder / "runs",
        url="http://testserver",
    )


@pytest.fixture(scope="session")
def _client(settings: Settings) -> Iterator[TestClient]:
    with Client(create_app(settings), follow_redirects=False) as client:
        until_ready(client)
        yield client


@pytest.fixture
def client(_client: TestClient) -> TestClient:
    """The whole app; a visitor whom it has never seen."""
    _client.cookies.clear()
    return _client


@pytest.fixture(scope="session")
def site(_client: TestClient) -> Site:
    made = _client.app.state.site  # type: ignore[attr-defined]
    assert isinstance(made, Site)
    return made


@pytest.fixture(scope="session")
def token(site: Site) -> str:
    with open_session(site.engine) as session:
        return create_token(session, "tests")


@pytest.fixture
def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def exercise_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes an exercise file into a chapter of its own."""
    chapter = tmp_path / "exercises" / "chapter"
    chapter.mkdir(parents=True)
    (chapter / "topic.yaml").write_text("title: Chapter\nposition: 1\nsummary: A chapter for tests.\nopening: Words.\n")

    def write(text: str) -> Path:
        file = chapter / "exercise.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    return write
