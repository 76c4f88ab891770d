"""What has no translation says on a page in another language that it is English."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from markupsafe import escape

from app.core import translation
from app.core.translation import say, speaking, translate
from app.core.translation.catalog import SentenceCatalog
from app.site.markdown import html
from app.site.web.frame import renderer
from app.site.web.frame.renderer import english_marked
from tests import translations
from tests.each import each
from tests.pages import PAGES
from tests.translation.test_told import english

# Explorers with figures of all sorts: plots, bars, schedules, tables, controls.
WHOLE = ("checkpoints", "memory", "pipeline", "overlap", "split", "hybrid-sharding")
SPAN = '<span lang="en">'
CASES = {
    "a text": ("Fresh words", "<p>Fresh words</p>", f"<p>{SPAN}Fresh words</span></p>"),
    "a part of a text": ("fresh words", "<p>Hier: fresh words.</p>", f"<p>Hier: {SPAN}fresh words</span>.</p>"),
    "a capital letter": ("fresh words", "<p>Fresh words</p>", f"<p>{SPAN}Fresh words</span></p>"),
    "no part of a word": ("art", "<p>Start der Arten</p>", "<p>Start der Arten</p>"),
    "signs between": ("fresh words", "<p>中fresh words。</p>", f"<p>中{SPAN}fresh words</span>。</p>"),
    "values": (
        "{name} of the {what}",
        "<p>Acht of the <b>nodes</b> hier</p>",
        f"<p>{SPAN}Acht of the </span><b>nodes</b> hier</p>",
    ),
    "values inside": (
        "From {a} to {b} it takes long",
        "<p>From <b>1</b> to 2 it takes long.</p>",
        f"<p>{SPAN}From <b>1</b> to 2 it takes long</span>.</p>",
    ),
    "of templates": (
        "100%% of %(name)s are <b>here</b>",
        "<p>100% of x are <b>here</b></p>",
        f"<p>{SPAN}100% of x are <b>here</b></span></p>",
    ),
    "escaped": (
        'rank\'s <own> & "all"',
        "<p>rank&#39;s &lt;own&gt; &amp; &#34;all&#34;</p>",
        f"<p>{SPAN}rank&#39;s &lt;own&gt; &amp; &#34;all&#34;</span></p>",
    ),
    "Markdown": (
        "Write `send` for **each** rank",
        "<p>Write <code>send</code> for <strong>each</strong> rank</p>",
        f"<p>{SPAN}Write <code>send</code> for <strong>each</strong> rank</span></p>",
    ),
    "an attribute": (
        "Close it",
        '<input title="Close it" value="Close it">',
        '<input lang="en" title="Close it" value="Close it">',
    ),
    "an element of text alone": (
        "Fresh words",
        "<title>Fresh words · Wallclock</title>",
        '<title lang="en">Fresh words · Wallclock</title>',
    ),
    "a drawing": (
        "Fresh words",
        '<svg><text x="1">Fresh words</text></svg>',
        '<svg><text x="1"><tspan lang="en">Fresh words</tspan></text></svg>',
    ),
    "what is English already": (
        "Close it",
        '<a lang="en" title="Close it">x</a>',
        '<a lang="en" title="Close it">x</a>',
    ),
    "a script": ("Fresh words", "<script>say('Fresh words')</script>", "<script>say('Fresh words')</script>"),
    "names of attributes": (
        "data",
        '<g data-says="all data" data="data">',
        '<g lang="en" data-says="all data" data="data">',
    ),
    "signs alone": ("{a}: {b}", "<p>a: b</p>", "<p>a: b</p>"),
}


@pytest.fixture
def untranslated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """German, of which nothing is translated yet."""
    monkeypatch.setattr(translation, "catalog", lambda code: SentenceCatalog({}, {}))
    monkeypatch.setattr(translation, "_untranslated", {"de": set()})
    with speaking("de"):
        yield


@pytest.mark.usefixtures("untranslated")
@pytest.mark.parametrize(("sentence", "given", "marked"), CASES.values(), ids=CASES)
def test_a_sentence_without_a_translation_says_that_it_is_english(sentence: str, given: str, marked: str) -> None:
    assert english_marked(given, translation.list_untranslated()) == given  # nobody said it
    translate(sentence)
    assert english_marked(given, translation.list_untranslated()) == marked


@pytest.mark.usefixtures("untranslated")
def test_a_sentence_is_found_in_whatever_the_page_makes_of_it() -> None:
    said = translate(say("'{what}' & the *rest* of `{code}`: {why}", what="a<b", code="x", why=say("no idea")))
    for shown in (str(escape(said)), str(html(said))):
        assert english_marked(f"<p>{shown}</p>", translation.list_untranslated()).count('lang="en"') >= 1


@pytest.mark.usefixtures("untranslated")
def test_an_english_page_is_left_alone() -> None:
    translate("Fresh words")
    with speaking("en"):
        assert english_marked("<p>Fresh words</p>", translation.list_untranslated()) == "<p>Fresh words</p>"


@pytest.fixture
def french(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language that is offered, and of which nothing is translated yet."""
    read = translation.catalog
    empty = SentenceCatalog({}, {})
    monkeypatch.setitem(translation.LANGUAGES, "fr", "Français")
    monkeypatch.setitem(renderer._HEADERS, "fr", {"Content-Language": "fr"})
    monkeypatch.setitem(translation._untranslated, "fr", set())
    monkeypatch.setattr(translation, "catalog", lambda code: empty if code == "fr" else read(code))


@pytest.mark.usefixtures("french")
@each("path", ["/explore", *(f"/explore/{name}?show=1" for name in WHOLE)])
def test_a_page_says_of_each_sentence_without_a_translation_that_it_is_english(client: TestClient, path: str) -> None:
    page = client.get(path, headers={"Accept-Language": "fr"}).text
    assert '<html lang="fr">' in page
    assert page.count(' lang="en">') > 20
    assert english(page) == []


@each("path", PAGES.values())
def test_only_a_sentence_of_ours_is_ever_called_english(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A name, a number, or a text that is in the language of the page already, is not."""
    monkeypatch.setattr(translation, "_untranslated", {"de": set(), "zh": set()})
    ours = {one for key in translations.found() for one in (key if isinstance(key, tuple) else (key,))}
    for code in ("de", "zh"):
        client.get(path, headers={"Accept-Language": code})
        with speaking(code):
            assert translation.list_untranslated() <= ours
