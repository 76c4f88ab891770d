"""A lab from the prediction to its explanation, with a real run in between."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from sqlmodel import col, select

from app.core.measurements.published import text_of
from app.server.db.lab_runs import request_cancel
from app.server.db.run_state import UNFINISHED
from app.server.db.session import connect, open_session
from app.server.db.tables import LabRunRow
from tests.browser.accessible import assert_accessible, assert_fits
from tests.browser.browser import MILLISECONDS
from tests.browser.conftest import MakePage, Server
from tests.browser.test_solving import to
from tests.waiting import HANGS, wait_until

pytestmark = pytest.mark.slow(45)

RING = "/exercises/collectives/count-the-ring"
over_screens = pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
SIZES = "13MiB,14MiB,15MiB,16MiB"  # a minute
SLOW = f"/labs/algorithms?ranks=2&sizes={SIZES}&bandwidth=5MB/s"


def canceled(server: Server) -> list[str]:
    """The runs that held the devices or waited for them, and were told to end."""
    engine = connect(f"sqlite:///{server.database}")
    with open_session(engine) as session:
        found = session.exec(select(LabRunRow.name).where(col(LabRunRow.state).in_(UNFINISHED))).all()
        for name in found:
            request_cancel(engine, name)
    engine.dispose()
    return list(found)


@pytest.fixture(autouse=True)
def devices_are_free_afterwards(server: Server) -> Iterator[None]:
    """Cancels the runs of a test that failed, or the next would wait for their devices."""
    yield
    wait_until(lambda: not canceled(server), 5 * HANGS)


def assert_good(page: Page, width: int) -> None:
    assert_accessible(page)
    assert_fits(page, width)


@pytest.mark.needs("torch")
@over_screens
def test_predict_run_compare_explain(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page(RING, theme, width)
    page.get_by_label("Bytes sent by each rank").fill("1.5 MiB")
    page.get_by_role("button", name="Lock in").click()
    expect(page.locator(".verdict")).to_contain_text("Messages: the prediction is empty")
    expect(page.get_by_label("Bytes sent by each rank")).to_have_value("1.5 MiB")
    page.get_by_label("Messages sent by each rank").fill("6")
    page.get_by_role("button", name="Lock in").click()
    expect(page.get_by_role("row", name="Your prediction")).to_contain_text("1.5 MiB")
    expect(page.get_by_role("row", name="recorded")).to_contain_text("1.000 × yours")
    assert_good(page, width)
    page.get_by_role("button", name="Run it on this server").click()
    expect(page).to_have_url(re.compile(r"/labs/ring-bytes/\d+-\d+-ring-bytes-"))
    expect(page.locator("#run")).to_have_attribute("data-state", "done", timeout=5 * MILLISECONDS)
    assert_good(page, width)
    page.get_by_role("link", name="Back to").click()
    expect(page.get_by_role("row", name="cores yours")).to_contain_text("1.000 × yours")
    page.get_by_label("follows from the algorithm alone").check()
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#result[data-state=correct]")).to_contain_text("Bytes and messages follow")
    expect(page.get_by_role("row", name="The formula 1.5 MiB")).to_contain_text("1.5 MiB")
    assert_good(page, width)


@pytest.mark.needs("torch")
@over_screens
def test_a_run_goes_on_waits_and_is_cancelled(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page(SLOW, theme, width)
    page.get_by_label("Your prediction").fill("3.4 s")
    page.get_by_role("button", name="Lock in and run").click()
    expect(page.locator("#run")).to_have_attribute("data-state", "running", timeout=5 * MILLISECONDS)
    expect(page.get_by_role("cell", name="3.4 s")).to_be_visible()
    assert_good(page, width)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#run")).to_have_attribute("data-state", "cancelled", timeout=5 * MILLISECONDS)
    expect(page.get_by_role("status")).to_contain_text("Canceled: stopped on request")
    assert_good(page, width)
    page.get_by_role("link", name="Set it up again").click()
    expect(page.get_by_label("Bytes of the array")).to_have_value(SIZES)


@pytest.mark.needs("torch")
def test_a_wrong_parameter_is_told_beside_the_form(open_page: MakePage) -> None:
    page = open_page("/labs/ring-bytes", "light", 1280)
    page.get_by_label("Bytes of the array").fill("9 TiB")
    page.get_by_label("Your prediction").fill("1 MiB")
    page.get_by_role("button", name="Lock in and run").click()
    expect(page.get_by_role("alert")).to_contain_text("from 1 KiB to 64 MiB, not 9 TiB")
    expect(page.get_by_label("Bytes of the array")).to_have_value("9 TiB")
    assert_good(page, 1280)


def test_a_prediction_by_keyboard_alone(open_page: MakePage) -> None:
    page = open_page("/exercises/hardware/the-cube-of-the-side", "dark", 1280)
    to(page, "#box-1")
    page.keyboard.type("64")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name="Your prediction")).to_contain_text("64")
    to(page, "input[type=radio]")
    page.keyboard.press("Space")
    to(page, "button[value=check]")
    page.keyboard.press("Enter")
    expect(page.locator("#result:not([data-state=none])")).to_be_visible()


def test_a_lab_takes_a_file(open_page: MakePage) -> None:
    page = open_page("/labs/ring-bytes", "light", 1280)
    page.get_by_label("The file").set_input_files({"name": "run.json", "mimeType": "application/json", "buffer": b"{}"})
    page.get_by_role("button", name="Send it in").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not a run as")


@over_screens
def test_a_paste_and_a_dropped_file_are_compared(open_page: MakePage, theme: str, width: int) -> None:
    page = open_page("/measured", theme, width)
    page.get_by_label("Paste the output").fill(text_of("h100-16-p5"))
    page.evaluate(
        """text => {
          const held = new DataTransfer();
          held.items.add(new File([text], "job.log"));
          const event = { dataTransfer: held, bubbles: true, cancelable: true };
          document.querySelector(".measuring").dispatchEvent(new DragEvent("drop", event));
        }""",
        text_of("torchtitan-8b-h100"),
    )
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="All-reduce on 16 ranks")).to_be_visible()
    expect(page.get_by_role("heading", name="Training log of torchtitan")).to_be_visible()
    assert_good(page, width)
    page.get_by_label("Name").first.fill("Our pair of hosts")
    page.get_by_role("button", name="Save it").first.click()
    expect(page.get_by_role("heading", name="Our pair of hosts")).to_be_visible()
    assert_good(page, width)
    page.get_by_role("button", name="Delete this measurement").click()
    expect(page.get_by_role("heading", name="Your own measurements")).to_be_visible()
    expect(page.get_by_text("Our pair of hosts")).to_have_count(0)
