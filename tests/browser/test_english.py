"""What a script says without a translation, on a page in another language."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakePage

pytestmark = pytest.mark.slow(20)


def copied(open_page: MakePage, without: str = "") -> str | None:
    """The language of the button that copies a link on a German page, after it was pressed."""
    page = open_page("/chapters/tensor?lang=de")
    page.evaluate(
        """without => {
          const data = document.querySelector("meta[name=sentences]");
          const { [without]: _, ...others } = JSON.parse(data.content);
          data.content = JSON.stringify(others);
          navigator.clipboard.writeText = async () => {};
        }""",
        without,
    )
    menu = page.locator("details:has(button[data-copy])").first
    menu.locator("summary").click()
    button = menu.locator("button[data-copy]")
    before = button.inner_text()
    button.click()
    expect(button).not_to_have_text(before)
    return button.get_attribute("lang")


@pytest.mark.parametrize(("without", "lang"), [("", None), ("Copied", "en")])
def test_what_a_script_says_without_a_translation_is_marked_as_english(
    open_page: MakePage, without: str, lang: str | None
) -> None:
    assert copied(open_page, without) == lang
