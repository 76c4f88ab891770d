import pytest
from playwright.sync_api import Playwright

from tests.browser import browser


class Chromium:
    executable_path = "/nowhere"


class NoBrowser:
    chromium = Chromium()


def test_a_missing_browser_says_how_to_install_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    playwright: Playwright = NoBrowser()  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="apt-get install chromium"):
        browser.find(playwright)
