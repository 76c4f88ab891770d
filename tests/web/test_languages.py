"""The language of a page: how it is chosen, and what it says."""

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.server.config import Settings
from app.server.network.head import best
from tests.each import each
from tests.pages import PAGES

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
EXERCISE = "/exercises/testtime/points-or-percent?seed=0"


def lang(page: str) -> str:
    return "".join(re.findall(r'<html lang="([^"]*)"', page)[:1])


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("de", "de"),
        ("de-CH", "de"),
        ("zh-TW,zh;q=0.9", "zh"),
        ("en-US,en;q=0.9,de;q=0.8", "en"),
        ("fr,de;q=0.3,en;q=0.2", "de"),
        ("en;q=0.2, de;q=0.9", "de"),
        ("de;q=0, zh;q=0.1", "zh"),
        ("fr-FR", "zh"),  # the operator's
        ("*", "zh"),
        ("", "zh"),
        ("de;q=high", "zh"),
        (";;;,,,=" * 1000, "zh"),
        ("DE", "de"),
    ],
)
def test_the_browser_s_preference(header: str, code: str) -> None:
    assert best(header.encode(), "zh") == code


def test_a_page_speaks_the_language_of_the_browser(client: TestClient) -> None:
    german = client.get("/", headers=GERMAN)
    assert lang(german.text) == german.headers["content-language"] == "de"
    assert "Den Trainingsschritt vorhersagen, dann messen." in german.text
    chinese = client.get("/", headers={"Accept-Language": "zh-CN"})
    assert lang(chinese.text) == "zh-Hans"
    assert "先预测训练一步的时间，再实测。" in chinese.text


@each("path", PAGES.values())
def test_every_page_speaks_the_language_of_the_browser(client: TestClient, path: str) -> None:
    """Also one that is drawn in a thread of its own."""
    assert lang(client.get(path, headers=GERMAN).text) == "de"


def test_an_anonymous_english_visitor_pays_nothing(client: TestClient) -> None:
    page = client.get("/", headers={"Accept-Language": "en-US,en;q=0.9"})
    assert lang(page.text) == "en"
    assert "set-cookie" not in page.headers
    assert 'name="sentences"' not in page.text
    assert {"Accept-Language", "Cookie"} <= set(re.split(r",\s*", page.headers["vary"]))
    assert "set-cookie" not in client.get("/", headers=GERMAN).headers


def test_a_choice_is_kept_and_goes_first(client: TestClient) -> None:
    chosen = client.post("/language", data={"language": "zh", "back": "/labs"}, follow_redirects=False)
    assert (chosen.status_code, chosen.headers["location"]) == (303, "/labs")
    assert lang(client.get("/", headers=GERMAN).text) == "zh-Hans"
    assert lang(client.get("/?lang=de").text) == "de"  # a link goes before the choice
    client.cookies.delete("visit-language")  # as a browser does that is closed
    assert lang(client.get("/").text) == "zh-Hans"  # and does not change it
    client.post("/language", data={"language": "en", "back": "//evil.example"})
    assert lang(client.get("/", headers=GERMAN).text) == "en"


def test_a_choice_is_known_in_whichever_header_of_cookies_it_is(client: TestClient) -> None:
    chosen, other = ("Cookie", "language=de"), ("Cookie", "a=b")
    for cookies in ([chosen, other], [other, chosen], [chosen, ("Cookie", "language=zh")]):
        assert client.get("/", headers=cookies).headers["content-language"] == "de"


def test_a_language_in_the_address_stays_for_the_visit(client: TestClient) -> None:
    page = client.get("/?lang=de", headers={"Accept-Language": "en"})
    assert "max-age" not in page.headers["set-cookie"].lower()
    for path in ("/labs", EXERCISE, "/"):
        assert lang(client.get(path, headers={"Accept-Language": "en"}).text) == "de"
    assert lang(client.get("/placement?lang=zh").text) == "zh-Hans"
    assert lang(client.get("/labs").text) == "zh-Hans"
    client.post("/language", data={"language": "en", "back": "/"})
    assert lang(client.get("/labs", headers=GERMAN).text) == "en"  # what is chosen goes first


def test_a_form_that_names_a_language_in_its_address_changes_none_of_the_visit(client: TestClient) -> None:
    answer = client.post("/nowhere?lang=de")
    assert (answer.status_code, lang(answer.text)) == (404, "de")
    assert "visit-language" not in client.cookies
    assert lang(client.get("/nowhere?lang=de").text) == "de"
    assert client.cookies["visit-language"] == "de"


def test_who_chooses_a_language_stays_at_the_same_address(client: TestClient) -> None:
    """In the one that was chosen, also where the address asks for another."""
    page = client.get("/explore/ring?lang=de&ranks=5&show=1").text
    for form in ("language", "theme"):
        (back,) = re.findall(rf'action="/{form}".*?name="back" value="([^"]*)"', page, re.DOTALL)
        assert unescape(back) == "/explore/ring?lang=de&ranks=5&show=1"
    chosen = {"language": "zh", "back": unescape(back)}
    answer = client.post("/language", data=chosen, follow_redirects=False)
    assert answer.headers["location"] == "/explore/ring?ranks=5&show=1"
    assert lang(client.get(answer.headers["location"]).text) == "zh-Hans"
    for away in ("//evil.example/?a=1", "/\\evil.example?a=1", "https://evil.example", "?a=1", ""):
        answer = client.post("/language", data={"language": "zh", "back": away}, follow_redirects=False)
        assert answer.headers["location"] == "/"
    for odd in ("/labs?a=%0d%0aSet-Cookie:x", "/labs?a=\r\nSet-Cookie: x", "/\t/evil.example"):
        answer = client.post("/language", data={"language": "zh", "back": odd}, follow_redirects=False)
        there = answer.headers["location"]
        assert there.startswith(("/labs?a=%0", "/%09/")), there
        assert "set-cookie: x" not in str(answer.headers).lower()


def test_only_a_page_remembers_the_language_of_its_address(client: TestClient) -> None:
    for path in ("/?lang=tlh", "/static/app.js?lang=de", "/api/v1/exercises?lang=de", "/labs"):
        assert "set-cookie" not in client.get(path).headers


def test_what_is_not_offered_is_forgotten(client: TestClient) -> None:
    answer = client.post("/language", data={"language": "tlh", "back": "//evil.example"}, follow_redirects=False)
    assert answer.headers["location"] == "/"
    assert 'language=""' in answer.headers["set-cookie"]
    assert lang(client.get("/?lang=tlh").text) == "en"
    assert lang(client.get("/", headers={"Cookie": "language=xx"}).text) == "en"


def test_the_menu_says_which_language_it_is(client: TestClient) -> None:
    page = client.get("/labs", headers=GERMAN).text
    menu = re.findall(r'<form[^>]*action="/language".*?</form>', page, re.DOTALL)[0]
    assert re.findall(r'value="(\w+)" lang="([\w-]+)"( aria-pressed="true")?', menu) == [
        ("en", "en", ""),
        ("de", "de", ' aria-pressed="true"'),
        ("zh", "zh-Hans", ""),
    ]
    assert 'name="back" value="/labs"' in menu


def test_scripts_get_their_sentences_as_data(client: TestClient) -> None:
    page = client.get("/", headers=GERMAN).text
    held = re.findall(r'<meta name="sentences" content="([^"]*)">', page)[0]
    assert json.loads(unescape(held))["Not sent"] == "Nicht gesendet"


def test_an_error_page_speaks_the_language_too(client: TestClient) -> None:
    page = client.get("/nothing", headers=GERMAN)
    assert page.status_code == 404
    assert lang(page.text) == "de"
    assert "Alle Aufgaben" in page.text


def test_pictures_and_files_are_the_same_in_every_language(client: TestClient) -> None:
    for path in ("/static/app.js", "/robots.txt"):
        assert client.get(path).content == client.get(path, headers=GERMAN).content


def test_an_exercise_is_shown_in_its_translation(client: TestClient) -> None:
    page = client.get(EXERCISE, headers=GERMAN).text
    assert "<h1>Prozentpunkte oder Prozent</h1>" in page
    answer = {"answer.points": "30.4 %", "answer.relative": "30.4 %", "action": "check"}
    verdict = client.post(EXERCISE, data=answer, headers=GERMAN).text
    assert "Das ist relativ. Der Gewinn in Punkten ist die Differenz." in verdict
    assert "That is relative." in client.post(EXERCISE, data=answer).text


def test_what_stays_english_says_so(client: TestClient) -> None:
    page = client.get("/exercises/pipelines/in-flight", headers=GERMAN).text
    assert '<h1 lang="en">' in page
    assert '<span class="what" lang="en">' in page
    translated = client.get(EXERCISE, headers=GERMAN).text
    for part in (r"<form[^>]*action=\"/language\".*?</form>", r"<aside class=\"aside\".*?</aside>"):  # lists of others
        translated = re.sub(part, "", translated, flags=re.DOTALL)
    assert 'lang="en"' not in translated
    assert '<div lang="en">' in client.get("/docs/sandbox", headers=GERMAN).text


@pytest.fixture
def chinese(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings.model_copy(update={"language": "zh"}))) as client:
        yield client


def test_the_operator_chooses_for_browsers_that_do_not(chinese: TestClient) -> None:
    assert lang(chinese.get("/").text) == "zh-Hans"
    assert lang(chinese.get("/", headers={"Accept-Language": "fr"}).text) == "zh-Hans"
    assert lang(chinese.get("/", headers={"Accept-Language": "en"}).text) == "en"


def test_search_engines_find_the_first_page_in_every_language(settings: Settings) -> None:
    site = settings.model_copy(update={"url": "https://example.org/wallclock"})
    with TestClient(create_app(site)) as client:
        page = client.get("/wallclock/?lang=de").text
        chapter = client.get("/wallclock/chapters/testtime?lang=de").text
    found = dict(re.findall(r'<link rel="alternate" hreflang="([^"]*)" href="([^"]*)"', page))
    assert found["zh-Hans"] == "https://example.org/wallclock/?lang=zh"
    assert len(found) == 3
    assert '<link rel="canonical" href="https://example.org/wallclock/?lang=de">' in page
    assert 'rel="alternate"' not in chapter


def test_a_visitor_is_told_what_is_english_before_the_click(client: TestClient) -> None:
    page = client.get("/chapters/pipelines", headers=GERMAN).text
    assert re.search(r'lang="en">[^<]+</span>.{0,120}?Englisch ·', page, re.DOTALL)
    home = client.get("/", headers=GERMAN).text
    assert "Aufgaben auf Englisch" in home
    exercise = client.get("/exercises/pipelines/in-flight", headers=GERMAN).text
    assert "Diese Aufgabe ist auf Englisch." in exercise
    assert "auf Englisch" not in client.get("/exercises/memory/stage-1", headers=GERMAN).text
    for path in ("/", "/chapters/pipelines", "/exercises/pipelines/in-flight"):
        assert "in English" not in client.get(path).text
