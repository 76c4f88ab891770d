"""Draws static/social.png, the picture shown where an address is shared: python -m tests.audit.social"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from app.config import ROOT
from tests.bench.load import server
from tests.browser.browser import launch

_STYLE = """
body{display:grid;align-content:center;gap:2.2rem;height:630px;padding:0 70px;overflow:hidden}
.brand{font-size:2rem}.brand svg{width:46px;height:46px}
h1{font-size:4.4rem;margin:0;letter-spacing:-.03em}
svg.figure{width:1060px;height:auto}svg.figure>text,svg.figure>rect:not(.idle){display:none}
"""


def draw(target: Path) -> None:
    """A picture of the brand, the motto and a schedule."""
    with (
        tempfile.TemporaryDirectory() as folder,
        server(Path(folder)) as running,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        page = browser.new_page(
            viewport={"width": 1200, "height": 630}, color_scheme="light", bypass_csp=True
        )
        page.goto(f"http://127.0.0.1:{running.port}/explore/pipeline?schedule=zb_h1")
        page.evaluate(
            """() => {
              const brand = document.querySelector(".brand");
              const svg = document.querySelector("svg.schedule");
              const title = document.createElement("h1");
              title.textContent = "Predict the training step, then time it.";
              document.body.replaceChildren(brand, title, svg);
            }"""
        )
        page.add_style_tag(content=_STYLE)
        page.evaluate("document.fonts.ready")
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    draw(ROOT / "static" / "social.png")
