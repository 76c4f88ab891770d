"""Chrome 110, Firefox 115 and Safari 16.4 can use the site: what is newer has a fallback."""

import re

from app.site.web.frame.assets import assets
from tests.each import each

SHEETS = tuple(name for name in assets() if name.endswith(".css"))
# Newer than these browsers, and in the way of a visitor where it is not known.
NEWER = re.compile(
    r"light-dark\(|::details-content|:not\(:popover-open\)|@starting-style|@scope\b|anchor\(|@position-try"
    r"|interpolate-size|[{};]&|display:(?:none|contents)[^{}]*:has\("
)
_BLOCK = re.compile(r"@supports[^{]*\{(?:[^{}]*|\{(?:[^{}]*|\{[^{}]*\})*\})*\}")


def without_supports(css: str) -> str:
    """*css* without what only browsers read that say that they know it."""
    return _BLOCK.sub("", css)


@each("name", SHEETS)
def test_what_an_older_browser_does_not_know_is_asked_for_first(name: str) -> None:
    css = assets()[name].body.decode()
    assert NEWER.findall(without_supports(css)) == []


def test_a_newer_feature_is_found_outside_of_supports() -> None:
    asked = "@supports selector(::details-content){a::details-content{b:c}@media print{d{e:f}}}"
    assert not NEWER.search(without_supports(asked))
    assert NEWER.search(without_supports(f"{asked}a::details-content{{b:c}}"))


def test_both_themes_have_every_color_without_light_dark() -> None:
    css = assets()["app.css"].body.decode()
    light, *dark = re.findall(r"--background:(#\w+)", css)
    assert len(dark) == 2  # asked for by the system, and chosen
    assert set(dark) == {dark[0]} != {light}
