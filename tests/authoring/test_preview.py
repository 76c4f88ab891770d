import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.exceptions import HTTPException

from app.authoring.preview import LatestWork, preview_app
from app.core.errors import InputError
from app.core.yaml_file import LARGEST
from app.course.sandbox.runner import Runner
from app.main import create_site
from app.server.config import Settings
from tests.authoring.test_lint import BUG
from tests.content.test_catalog import GOOD
from tests.each import each
from tests.waiting import HANGS, until

pytestmark = pytest.mark.slow(10)

KEY = "the-key-of-this-page"
OWN = {"X-Preview-Key": KEY}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my-course" / "first.yaml"
    path.parent.mkdir()
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def client(file: Path, tmp_path: Path, settings: Settings) -> Iterator[TestClient]:
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'p.db'}"}))
    with TestClient(preview_app(file, site, KEY)) as made:
        yield made


def drafted(client: TestClient, text: str | bytes, **headers: str) -> httpx2.Response:
    """The response to a *text* that a page sends while one types."""
    return client.post("/preview/draft?page=1", content=text, headers={**OWN, **headers})


def test_a_file_is_shown_beside_its_exercise_and_its_proof(client: TestClient) -> None:
    page = client.get("/preview")
    assert page.status_code == 200
    assert GOOD.rstrip() in page.text
    assert re.findall(r'<iframe [^>]*src="([^"]+)"', page.text) == ["/exercises/my-course/first?seed=0"]
    for seed in range(4):
        assert f"/exercises/my-course/first?seed={seed}" in page.text
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert "How much is 1 twice?" in client.get("/exercises/my-course/first").text
    proof = client.get("/preview/proof").text
    assert "Proven" in proof
    assert "That is five times." in proof


def test_a_saved_file_is_fresh_and_a_broken_one_keeps_its_last_version(client: TestClient, file: Path) -> None:
    stamp = client.get("/preview/stamp").text
    file.write_text(GOOD.replace("twice?", "doubled?"), encoding="utf-8")
    assert client.get("/preview/stamp").text != stamp
    client.get("/preview")
    assert "doubled?" in client.get("/exercises/my-course/first").text
    for broken in ("level: [", "level: 9", "given: {x: [1 parsec]}"):
        file.write_text(GOOD.replace("level: 1", broken), encoding="utf-8")
        assert 'data-shown="no"' in client.get("/preview").text
        assert "problem" in client.get("/preview/proof").text
        assert "doubled?" in client.get("/exercises/my-course/first").text
    file.unlink()
    assert client.get("/preview/stamp").text == "gone"
    assert "cannot be read" in client.get("/preview/proof").text


def test_what_is_typed_is_proven_and_shown_before_it_is_stored(client: TestClient, file: Path) -> None:
    proof = drafted(client, GOOD.replace("twice?", "doubled?"))
    assert "Proven" in proof.text
    assert 'data-shown="yes"' in proof.text
    assert "doubled?" in client.get("/exercises/my-course/first").text
    broken = drafted(client, GOOD.replace("level: 1", "levle: 1")).text
    line = GOOD.splitlines().index("level: 1") + 1
    assert f'data-line="{line}"' in broken
    assert "did you mean &#39;level&#39;?" in broken
    assert 'data-shown="no"' in broken
    assert "doubled?" in client.get("/exercises/my-course/first").text
    assert file.read_text(encoding="utf-8") == GOOD


@each(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://testserver"}, 200),
        ({"X-Preview-Key": ""}, 403),
        ({"X-Preview-Key": "another"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://testserver.evil.example"}, 403),
        ({"Origin": "http://testserver:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 421),  # DNS that leads here
    ],
)
def test_only_its_own_page_that_has_the_key_may_send_texts(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    assert drafted(client, GOOD, **headers).status_code == status


def test_the_key_is_not_in_what_the_server_sends(client: TestClient) -> None:
    for path in ("/preview", "/preview/proof", "/preview/stamp", "/exercises/my-course/first"):
        assert KEY not in client.get(path).text


def test_where_other_machines_can_ask_it_takes_the_key_to_read_and_to_prove(
    file: Path, tmp_path: Path, settings: Settings
) -> None:
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'q.db'}"}))
    with TestClient(preview_app(file, site, KEY, locked=True)) as client:
        page = client.get("/preview")
        assert "How much is" not in page.text
        assert "data-locked-text" in page.text
        for path in ("/preview/text", "/preview/proof"):
            assert client.get(path).status_code == 403
            assert client.get(path, headers={"X-Preview-Key": "another"}).status_code == 403
            assert client.get(path, headers={**OWN, "Origin": "http://evil.example"}).status_code == 403
            assert client.get(path, headers=OWN).status_code == 200
        assert client.get("/preview/text", headers=OWN).text == GOOD


@each("text", ["", "\0", "é" * 9, "- 1", "&a [*a]", "x: " + "[" * 5000, b"\xff", "kind: numeric"])
def test_a_text_that_is_not_an_exercise_is_answered_with_its_problems(client: TestClient, text: str | bytes) -> None:
    proof = drafted(client, text)
    assert proof.status_code == 200
    assert "problem" in proof.text


def test_a_text_may_be_as_large_as_a_file(client: TestClient, file: Path) -> None:
    long = f"{GOOD}# ".ljust(LARGEST, "x")
    assert "Proven" in drafted(client, long).text
    assert drafted(client, f"{long}x").status_code == 413
    assert drafted(client, f"{long * 3}").status_code == 413
    file.write_text(f"{long}x", encoding="utf-8")
    assert "at most 1,000,000 are read" in client.get("/preview").text
    assert "at most 1,000,000 are read" in client.get("/preview/proof").text


def test_a_file_that_is_not_utf_8_is_not_edited(client: TestClient, file: Path) -> None:
    file.write_bytes(GOOD.encode() + b"# \xff\n")
    assert "The file is not UTF-8." in client.get("/preview").text


def test_an_unchanged_file_is_not_proven_again(client: TestClient, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = client.get("/preview/proof").text

    async def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("app.authoring.preview.lint_document", never)
    assert client.get("/preview/proof").text == first
    file.write_text(GOOD + "# changed\n", encoding="utf-8")
    assert client.get("/preview/proof").status_code == 500


def test_bugs_of_a_listing_are_counted(client: TestClient, file: Path) -> None:
    file.write_text(BUG + "mutate: [constant, factor]\n", encoding="utf-8")
    assert "bugs can be drawn" in client.get("/preview/proof").text


def test_other_files_of_a_folder_are_named(tmp_path: Path, file: Path, settings: Settings) -> None:
    (file.parent / "second.yaml").write_text(GOOD, encoding="utf-8")
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'q.db'}"}))
    with TestClient(preview_app(file.parent, site, KEY)) as client:
        assert "/preview?name=second" in client.get("/preview").text
        assert client.get("/preview?name=third").status_code == 404
        assert client.get("/preview?name=../second").status_code == 404
        assert client.get("/preview?name=second").status_code == 200


def test_files_are_listed_in_the_order_of_their_chapter(file: Path, tmp_path: Path, settings: Settings) -> None:
    for name, key in (("a", "position: 9"), ("b", "position: 2"), ("c", "core: true")):
        file.with_stem(name).write_text(f"{GOOD}{key}\n", encoding="utf-8")
    file.with_stem("aa").write_text("kind: [", encoding="utf-8")
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'p.db'}"}))
    with TestClient(preview_app(file.parent, site, KEY)) as client:
        listed = re.findall(r'href="/preview\?name=(\w+)"', client.get("/preview").text)
    assert listed == ["c", "b", "a", "first", "aa"]


def test_nothing_to_preview_is_said(tmp_path: Path, settings: Settings) -> None:
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'r.db'}"}))
    try:
        with pytest.raises(InputError, match="wallclock new"):
            preview_app(tmp_path, site, KEY)
    finally:
        site.engine.dispose()


def test_of_the_texts_of_one_page_the_latest_is_proven(loop: asyncio.AbstractEventLoop, settings: Settings) -> None:
    """It does not wait for the others to end, and another page's text is not replaced."""
    begun, ended = [], []

    async def pages() -> list[str | BaseException]:
        latest = LatestWork(Runner(settings))

        def work(name: str, seconds: float) -> asyncio.Task[str]:
            async def proven(_: Runner) -> str:
                begun.append(name)
                try:
                    await asyncio.sleep(seconds)
                except asyncio.CancelledError:
                    ended.append(name)
                    raise
                return name

            return asyncio.create_task(latest.result(name[0], proven))

        first = work("a1", 600)
        await until(lambda: begun)
        others = [work("a2", 600), work("b1", 0), work("a3", 0)]
        return await asyncio.gather(first, *others, return_exceptions=True)

    found = loop.run_until_complete(pages())
    assert [type(one) for one in found[:2]] == [HTTPException, HTTPException]
    assert found[2:] == ["b1", "a3"]
    assert ended == ["a1"]


def test_work_on_a_text_leaves_the_event_loop_free(loop: asyncio.AbstractEventLoop, settings: Settings) -> None:
    begun, may_end = threading.Event(), threading.Event()

    async def proven(_: Runner) -> bool:
        begun.set()
        return may_end.wait(HANGS)

    async def page() -> bool:
        task = asyncio.create_task(LatestWork(Runner(settings)).result("a", proven))
        await until(begun.is_set)
        may_end.set()
        return await task

    assert loop.run_until_complete(page())
