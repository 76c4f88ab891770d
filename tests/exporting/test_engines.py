"""An exported course under a path, used as a person does, in Firefox and in the engine of Safari."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.engines.conftest import ENGINES
from tests.engines.engine import GO, Engine
from tests.exporting.chromium import served
from tests.exporting.conftest import CODE, NUMBER
from tests.needs import need
from tests.waiting import HANGS, wait_until

pytestmark = pytest.mark.slow(40)

BEGUN = "return performance.getEntriesByName('ready').length"
JUDGED = "return document.querySelector('#result')?.dataset.state !== 'none'"
KEPT = """return caches.keys().then(async (names) => {
  for (const name of names)
    for (const { url } of await (await caches.open(name)).keys()) if (/pages[.]\\w+[.]bin$/.test(url)) return true;
  return false;
});"""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    need(request.param)
    profile = tmp_path / "profile"
    profile.mkdir()
    made = ENGINES[request.param](profile)
    yield made
    made.close()


def go(engine: Engine, path: str) -> None:
    engine.send(GO, url=f"{engine.site}{path}/")
    wait_until(lambda: engine.run(BEGUN), 5 * HANGS)


def answer(engine: Engine, text: str) -> str:
    """The verdict on a number."""
    engine.click("#box-1")
    engine.key("Control", "a")
    engine.type(text)
    engine.key("Enter")
    wait_until(lambda: engine.run(JUDGED), 5 * HANGS)
    return engine.see(".feedback")


def move_a_control(engine: Engine) -> None:
    """The address follows the state, which has been computed by then."""
    before = engine.run("return location.search")
    engine.run("document.querySelector('.slide').focus()")
    engine.key("ArrowRight")
    wait_until(lambda: engine.run("return location.search") != before, 5 * HANGS)


def test_a_course_under_a_path(engine: Engine, files: Mapping[str, bytes], tmp_path: Path) -> None:
    for name, content in files.items():
        path = tmp_path / "site" / "deep" / "course" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with served(tmp_path / "site") as origin:
        engine.site = f"{origin}deep/course/"
        go(engine, f"exercises/{NUMBER}")
        assert "Right" in answer(engine, "70 ms")

        # Python is there already; a program runs, from the editor, under the path.
        go(engine, f"exercises/{CODE}")
        engine.click("#source")
        engine.click(".cm-content")
        engine.key("Control", "a")
        engine.key("Delete")
        engine.type("def ring_allreduce_ms(a, b, c, d): return 42")
        engine.click("button[value=run]")
        wait_until(lambda: engine.run("return document.querySelector('.trial')"), 5 * HANGS)
        assert "returned 42" in engine.see(".trial")

        # An explorer with a query moves, also after a reload; the theme is kept.
        go(engine, "explore/ring")
        for _ in range(2):
            move_a_control(engine)
            engine.reload()
            wait_until(lambda: engine.run(BEGUN), 5 * HANGS)
        engine.click(".to-dark")
        go(engine, "errata")
        assert engine.run("return document.documentElement.dataset.theme") == "dark"
        wait_until(lambda: engine.run(KEPT), 5 * HANGS)

    # The server is gone: what was kept is enough.
    go(engine, f"exercises/{NUMBER}")
    assert "Not yet" in answer(engine, "35 ms")
    assert engine.errors() == []
