import html
import json
import re
from html.parser import HTMLParser
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from app.course.kinds import Exercise
from app.main import create_app
from app.server.config import Settings
from app.server.db.migrations import BEFORE
from app.server.db.session import database_file
from app.site import Site
from tests.each import each
from tests.pages import EVERY

NUMERIC = "/exercises/collectives/ring-all-reduce-time"
VOID = {"meta", "link", "input", "br", "img", "hr", "rect", "path", "circle", "mspace"}


class Checker(HTMLParser):
    """Balanced tags, unique ids, no inline script or style, a button in every form."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.faults: list[str] = []
        self.waiting = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "form":
            self.waiting = str(names.get("action"))  # for its button
        if tag == "button" and names.get("type", "submit") == "submit":
            self.waiting = ""
        if "id" in names:
            self.ids.append(str(names["id"]))
        if tag == "style" or (tag == "script" and "src" not in names):
            self.faults.append(f"inline {tag}")
        self.faults += [f"{tag} {name}" for name in names if name == "style" or name[:2] == "on"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")
        if tag == "form" and self.waiting:
            self.faults.append(f"no button sends the form to {self.waiting}")


def fields(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


@each("path", EVERY)
def test_a_page_is_sound_html_without_inline_script(client: TestClient, path: str) -> None:
    answer = client.get(path)
    checker = Checker()
    checker.feed(answer.text)
    assert checker.faults == []
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert "script-src 'self';" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in answer.headers


def test_authors_are_told_every_key_of_every_kind(client: TestClient) -> None:
    page = client.get("/authoring").text
    for kind in get_args(Exercise):
        for name, field in kind.model_fields.items():
            if name not in ("id", "digest", "chapter_parameters", "kind"):
                assert f"<code>{field.alias or name}</code>" in page
                assert field.description, f"{kind.__name__}.{name}"


def test_every_exercise_and_every_formula_has_a_page(client: TestClient, site: Site) -> None:
    from app.core.formulas import FORMULAS

    for exercise in site.catalog.exercises:
        for seed in (0, 5):
            assert client.get(f"/exercises/{exercise.id}?seed={seed}").status_code == 200
    for name in FORMULAS:
        assert client.get(f"/formulas/{name}").status_code == 200


def test_a_wrong_answer_is_diagnosed_and_kept(client: TestClient) -> None:
    page = client.post(NUMERIC, data={"answer": "35 ms", "action": "check"})
    assert page.status_code == 200
    assert "reduce-scatter alone" in page.text
    assert 'value="35 ms"' in page.text
    cookie = page.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "35 ms" in client.get("/progress").text


def test_a_fragment_is_the_verdict_alone(client: TestClient) -> None:
    part = client.post(NUMERIC, data={"answer": "70 ms"}, headers={"X-Fragment": "1"})
    assert part.text.lstrip().startswith('<div id="result"')
    assert "<html" not in part.text


def test_an_unreadable_answer_is_not_kept(client: TestClient) -> None:
    page = client.post(NUMERIC, data={"answer": "soon"})
    assert "Not graded" in page.text
    assert "Nothing here yet" in client.get("/progress").text


def test_what_was_typed_comes_back_as_text(client: TestClient) -> None:
    page = client.post(NUMERIC, data={"answer": "<script>alert(1)</script>"})
    assert "<script>alert" not in page.text
    assert "alert(1)" in fields(page.text)


def test_hints_come_one_by_one_and_stay(client: TestClient) -> None:
    for count in (1, 2, 3, 3):
        page = client.post(NUMERIC, data={"action": "hint"})
        assert page.text.count('class="hint"') == count
    assert client.get(NUMERIC).text.count('class="hint"') == 3


def test_an_answer_after_the_solution_does_not_count_as_solved(client: TestClient) -> None:
    page = client.post(NUMERIC, data={"action": "solution"})
    assert "Worked solution" in page.text
    assert "70 ms" in page.text
    client.post(NUMERIC, data={"answer": "70 ms"})
    progress = fields(client.get("/progress").text)
    assert re.search(r"Solved\s+0", progress)
    client.post(f"{NUMERIC}?seed=4", data={"answer": "1 ms"})
    assert "Worked solution" not in client.get(f"{NUMERIC}?seed=4").text


def test_solved_without_hints_is_told_apart(client: TestClient) -> None:
    client.post(NUMERIC, data={"answer": "70 ms"})
    assert "solved without hints" in client.get("/chapters/collectives").text
    client.cookies.clear()
    client.post(NUMERIC, data={"action": "hint"})
    client.post(NUMERIC, data={"answer": "70 ms"})
    page = client.get("/chapters/collectives").text
    assert "solved without hints" not in page
    assert ", solved<" in page


def test_home_suggests_what_is_not_solved_yet(client: TestClient) -> None:
    assert "Start here: Bytes sent in a ring all-reduce" in fields(client.get("/").text)
    client.post("/exercises/collectives/bytes-sent-by-a-ring", data={"answer": "1.75"})
    page = fields(client.get("/").text)
    assert "Continue: Time of a ring all-reduce" in page
    assert "Number 2 of 8 on the path in Ring all-reduce." in page


def test_after_a_right_answer_the_next_one_is_offered(client: TestClient) -> None:
    page = fields(client.post(NUMERIC, data={"answer": "70 ms"}).text)
    assert "Continue: Bytes sent in a ring all-reduce" in page


def test_progress_outlives_the_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("twice")
    settings = Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=1)
    with TestClient(create_app(settings)) as first:
        first.post(NUMERIC, data={"answer": "70 ms"})
        cookies = dict(first.cookies)
    with TestClient(create_app(settings), cookies=cookies) as second:
        assert re.search(r"Solved\s+1", fields(second.get("/progress").text))


def test_my_data_can_be_taken_away_and_deleted(client: TestClient) -> None:
    client.post(NUMERIC, data={"answer": "70 ms"})
    client.post(NUMERIC, data={"action": "hint"})
    kept = json.loads(client.get("/progress/export").text)
    assert [attempt["answer"] for attempt in kept["attempts"]] == ["70 ms"]
    assert [reveal["number"] for reveal in kept["reveals"]] == [1]
    assert client.post("/progress/delete").status_code == 422
    cookies = dict(client.cookies)
    gone = client.post("/progress/delete", data={"sure": "yes"})
    assert gone.headers["location"] == "/progress?deleted=1"
    client.cookies.update(cookies)
    assert json.loads(client.get("/progress/export").text)["attempts"] == []


def test_a_copy_that_still_has_what_was_deleted_is_named(client: TestClient, site: Site) -> None:
    assert "A copy of the database" not in client.get("/progress?deleted=1").text
    file = database_file(site.settings.database)
    assert file is not None
    copy = file.with_name(f"{file.name}{BEFORE}an-upgrade")
    copy.touch()
    try:
        page = client.get("/progress?deleted=1").text
    finally:
        copy.unlink()
    assert "A copy of the database from before an upgrade still has them" in page


def test_a_forged_cookie_is_nobody(client: TestClient) -> None:
    client.cookies.set("learner", "0123456789abcdef.forged")
    assert "Nothing here yet" in client.get("/progress").text


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_a_form_from_another_site_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.post(NUMERIC, data={"answer": "70 ms"}, headers=headers)
    assert answer.status_code == 403
    assert "another site" in answer.text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/exercises/collectives/ring-allreduce-time", "ring-all-reduce-time"),
        ("/chapters/memroy", "memory"),
        ("/formulas/collectives.ring_allreduce_time", "ring_all_reduce_time"),
        (f"{NUMERIC}?seed=x", "a seed is a whole number"),
        (f"{NUMERIC}?seed=99999999999", "seed"),
        ("/static/nothing.css", "this file does not exist"),
    ],
)
def test_what_is_not_there_is_said_with_the_nearest(client: TestClient, path: str, says: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert says.lower() in fields(answer.text).lower()


def test_a_page_that_does_not_exist_offers_a_search_for_its_words(client: TestClient) -> None:
    answer = client.get("/pages/gpu_memory-%3Cb%3E/")
    assert answer.status_code == 404
    assert "The page /pages/gpu_memory-&lt;b&gt;/ does not exist." in answer.text
    assert '<a class="button" href="/search?q=gpu%20memory%20b">Search for “gpu memory b”' in answer.text
    assert "Search for" not in client.get("/%20-/").text
    assert "Search for" not in client.get("/classes/175").text
    other = client.post("/glossary")
    assert other.status_code == 405
    assert "The page /glossary cannot be requested in this way." in other.text
    assert "Search for" not in other.text


def test_the_calculator_works_by_address(client: TestClient) -> None:
    address = "/formulas/collectives.ring_all_reduce_time?size=2+GB&ranks=8&bandwidth=400+Gbit/s"
    assert "<output>70 ms</output>" in client.get(address).text
    wrong = client.get(address.replace("ranks=8", "ranks=-1"))
    assert "ranks must be at least 1" in fields(wrong.text)


def test_a_new_variant_has_its_seed_in_the_address(client: TestClient) -> None:
    address = client.get(f"{NUMERIC}/another").headers["location"]
    assert re.fullmatch(rf"{NUMERIC}\?seed=\d+", address)


def test_static_files_may_be_kept_for_ever_by_their_hashed_name(client: TestClient) -> None:
    page = client.get("/").text
    name = re.findall(r'href="(/static/app\.[0-9a-f]+\.css)"', page)[0]
    answer = client.get(name, headers={"Accept-Encoding": "gzip"})
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip"
    again = client.get(name, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert client.get("/static/app.css").headers["cache-control"] == "no-cache"


def test_scripts_import_each_other_by_hashed_names(client: TestClient) -> None:
    script = client.get("/static/app.js").text
    for name in re.findall(r'import\("([^"]+)"\)', script):
        assert re.search(r"^\./\w+\.[0-9a-f]{10}\.js$", name)
        assert client.get(f"/static/{name}").status_code == 200


def test_the_theme_can_be_chosen_without_scripts(client: TestClient) -> None:
    answer = client.post("/theme", data={"theme": "dark", "back": "//evil.example"})
    assert answer.headers["location"] == "/"
    assert 'data-theme="dark"' in client.get("/").text


def test_an_answer_that_is_too_long_is_said_to_be(client: TestClient) -> None:
    page = client.post("/exercises/collectives/write-ring-time", data={"answer": "#" * 20_001})
    assert "at most 20,000 characters" in page.text


def test_a_body_that_is_too_large_is_refused(client: TestClient) -> None:
    assert client.post(NUMERIC, data={"answer": "1" * 1_100_000}).status_code == 413
