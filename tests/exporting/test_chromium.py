"""An exported course in a browser: it checks answers, runs programs, and needs no connection."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.browser import be_patient, running_browser
from tests.exporting.chromium import served
from tests.exporting.conftest import CODE, NUMBER, RUN
from tests.waiting import HANGS, wait_until

pytestmark = pytest.mark.slow(12)

KEPT = """async () => {
  for (const key of await caches.keys())
    for (const { url } of await (await caches.open(key)).keys())
      if (/pages[.]\\w+[.]bin$/.test(url)) return true;
}"""
# As the scripts of a page ask.
ASK = """async ([address, fields]) => {
  const wish = fields && { method: "POST", body: new URLSearchParams(fields) };
  return (await fetch(address, { ...wish, headers: { "x-fragment": "1" } })).text();
}"""
RIGHT_AWAY = "def ring_allreduce_ms(gradient_gb, ranks, bandwidth_gbps, latency_us):\n    return 1\n"
ENDLESS = RIGHT_AWAY.replace("return 1", "while True: pass")


@pytest.fixture
def folder(files: Mapping[str, bytes], tmp_path: Path) -> Path:
    """A folder with the course in a folder of a folder."""
    for name, content in files.items():
        path = tmp_path / "deep" / "course" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def test_a_course_without_a_server(folder: Path) -> None:
    with running_browser() as browser, served(folder) as origin:
        tab = browser.new_context().new_page()
        be_patient(tab, 5)  # Python comes first
        complaints: list[str] = []
        tab.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        base = f"{origin}deep/course/"
        tab.goto(f"{base}errata/")
        wait_until(lambda: tab.evaluate(KEPT), 5 * HANGS)

        tab.context.set_offline(True)
        tab.goto(f"{base}exercises/{NUMBER}/?seed=another")
        expect(tab.locator(".more")).to_contain_text("This is variant")
        tab.fill("input[name=answer]", "1 s")
        tab.click("button[value=check]")
        expect(tab.locator(".feedback.incorrect")).to_be_visible()

        number, code = f"{base}exercises/{NUMBER}", f"{base}exercises/{CODE}"
        right = tab.evaluate(ASK, [number, [["answer", "70 ms"]]])
        assert "Right" in right
        assert "1 of" in right
        ran = tab.evaluate(ASK, [code, [["answer", RIGHT_AWAY], ["action", "run"]]])
        assert "should return" in ran
        stopped = tab.evaluate(ASK, [code, [["answer", ENDLESS], ["action", "check"]]])
        assert "It did not finish within the time limit" in stopped
        exported = tab.evaluate(ASK, [f"{base}progress/export", None])
        assert '"attempts": [{' in exported
        assert complaints == []


def test_a_route_and_a_prediction_need_no_server(folder: Path) -> None:
    with running_browser() as browser, served(folder) as origin:
        tab = browser.new_context().new_page()
        be_patient(tab, 5)  # Python comes first
        base = f"{origin}deep/course"
        tab.goto(f"{base}/")
        tab.get_by_text("I serve").click()
        expect(tab.locator("#main")).to_contain_text("Leave this route")

        tab.goto(f"{base}{RUN}/?guess=100+MB")
        expect(tab.locator("#run")).to_contain_text("Your prediction")
        expect(tab.locator("#run")).to_contain_text("0.016")  # 1.5 MiB of 100 MB

        tab.goto(f"{base}/explore/fit/?model=Llama-3.1-8B&gpus=16&show=1")
        expect(tab.locator(".doubts")).to_contain_text("needs a server")
