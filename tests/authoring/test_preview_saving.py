"""Saving from the page of `wallclock preview`."""

import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from fastapi.testclient import TestClient

from app.authoring.preview import preview_app, with_line_ends
from app.core.yaml_file import LARGEST
from app.main import create_site
from app.server.config import Settings
from tests.authoring.test_preview import KEY, OWN
from tests.content.test_catalog import GOOD
from tests.each import each

pytestmark = pytest.mark.slow(10)

CHANGED = GOOD.replace("twice?", "doubled?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("course") / "my-course"
    made.mkdir()
    (made / "first.yaml").write_text(GOOD, encoding="utf-8")
    (made / "linked.yaml").symlink_to(made.parent / "outside.yaml")
    (made.parent / "outside.yaml").write_text(GOOD, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def _client(folder: Path, settings: Settings) -> Iterator[TestClient]:
    database = f"sqlite:///{folder.parent / 'p.db'}"
    site = create_site(settings.model_copy(update={"database": database}))
    with TestClient(preview_app(folder, site, KEY)) as made:
        yield made


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "first.yaml"
    path.unlink(missing_ok=True)
    path.write_bytes(GOOD.encode())
    return path


@pytest.fixture
def client(_client: TestClient, file: Path) -> TestClient:
    assert file.exists()
    return _client


def stamp(client: TestClient) -> str:
    return client.get("/preview/stamp?name=first").text


def saved(
    client: TestClient, text: str | bytes, seen: str = "", name: str = "first", **headers: str
) -> httpx2.Response:
    """The response to a page that saves *text* over a file that it has *seen*."""
    own = {**OWN, "If-Match": f'"{seen or stamp(client)}"', **headers}
    return client.put("/preview/text", params={"name": name}, content=text, headers=own)


def test_a_saved_text_is_in_the_file_and_nothing_else_in_its_folder(client: TestClient, file: Path) -> None:
    before = {path.name for path in file.parent.iterdir()}
    reply = saved(client, CHANGED)
    assert reply.status_code == 200
    assert reply.text == stamp(client)
    assert file.read_text(encoding="utf-8") == CHANGED
    assert {path.name for path in file.parent.iterdir()} == before
    text = client.get("/preview/text?name=first")
    assert text.text == CHANGED
    assert text.headers["etag"] == f'"{reply.text}"'


def test_a_file_that_changed_meanwhile_is_not_written_over(client: TestClient, file: Path) -> None:
    seen = stamp(client)
    file.write_text(f"{GOOD}# by another program\n", encoding="utf-8")
    assert saved(client, CHANGED, seen).status_code == 412
    assert "by another program" in file.read_text(encoding="utf-8")
    assert saved(client, CHANGED, '"').status_code == 412  # nothing was seen
    assert saved(client, CHANGED, stamp(client)).status_code == 200


def test_of_pages_that_save_at_once_one_does(client: TestClient, file: Path) -> None:
    seen = stamp(client)
    texts = [f"{GOOD}# page {number}\n" for number in range(6)]
    with ThreadPoolExecutor(6) as pages:
        statuses = list(pages.map(lambda text: saved(client, text, seen).status_code, texts))
    assert sorted(statuses) == [200] + [412] * 5
    assert file.read_text(encoding="utf-8") == texts[statuses.index(200)]


def test_a_file_that_is_gone_is_written_again_by_whoever_knows_that(client: TestClient, file: Path) -> None:
    seen = stamp(client)
    file.unlink()
    assert saved(client, CHANGED, seen).status_code == 412
    assert not file.exists()
    assert saved(client, CHANGED, "gone").status_code == 200
    assert file.read_text(encoding="utf-8") == CHANGED
    assert saved(client, GOOD, "gone").status_code == 412


@each(
    ("before", "text", "after"),
    [
        ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
        ("a\rb", "a\nb\nc", "a\rb\rc"),
        ("a\nb\r\nc\n", "x\na\nb\nc\n", "x\na\nb\r\nc\n"),
        ("a\n\r\nb\n", "a\n\nb\n", "a\n\r\nb\n"),
        ("a\na\r\n", "a\na\n", "a\na\r\n"),
        ("", "a\nb", "a\nb"),
        ("a", "a\nb\n", "a\nb\n"),
        ("\ufeffa\r\n", "a\nb\n", "\ufeffa\r\nb\r\n"),
        ("a\u2028b\n", "a\u2028b\n", "a\u2028b\n"),
    ],
)
def test_lines_keep_their_ends(before: str, text: str, after: str) -> None:
    assert with_line_ends(text, before) == after


@each("before", [GOOD.replace("\n", "\r\n"), f"\ufeff{GOOD}", GOOD.rstrip("\n")])
def test_a_file_that_is_saved_unchanged_has_the_same_bytes(client: TestClient, file: Path, before: str) -> None:
    file.write_bytes(before.encode())
    text = client.get("/preview/text?name=first").text
    assert "\r" not in text
    assert not text.startswith("\ufeff")
    assert saved(client, text).status_code == 200
    assert file.read_bytes() == before.encode()


def test_a_saved_file_keeps_its_permissions(client: TestClient, file: Path) -> None:
    file.chmod(0o640)
    assert saved(client, CHANGED).status_code == 200
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@each(
    ("headers", "status"),
    [
        ({"X-Preview-Key": ""}, 403),
        ({"X-Preview-Key": "another"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"If-Match": ""}, 412),
        ({"If-Match": "*"}, 412),
    ],
)
def test_what_another_site_sends_is_not_stored(
    client: TestClient, file: Path, headers: dict[str, str], status: int
) -> None:
    assert saved(client, CHANGED, **headers).status_code == status
    assert file.read_text(encoding="utf-8") == GOOD


def test_another_site_may_not_even_ask(client: TestClient) -> None:
    asked = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "x-preview-key",
    }
    reply = client.options("/preview/text", headers=asked)
    assert reply.status_code == 405
    assert not any(name.startswith("access-control") for name in reply.headers)


@each("name", ["../outside", "..%2Foutside", "/etc/passwd", "first.yaml", "first\n", "outside", "x" * 5000])
def test_only_files_of_the_folder_are_written(client: TestClient, folder: Path, name: str) -> None:
    before = sorted(folder.parent.rglob("*.yaml"))
    assert saved(client, CHANGED, "gone", name).status_code == 404
    assert sorted(folder.parent.rglob("*.yaml")) == before


def test_a_link_is_not_followed_out_of_the_folder(client: TestClient, folder: Path) -> None:
    seen = client.get("/preview/stamp?name=linked").text
    reply = saved(client, CHANGED, seen, "linked")
    assert reply.status_code == 422
    assert "symbolic link" in reply.text
    assert (folder.parent / "outside.yaml").read_text(encoding="utf-8") == GOOD
    assert (folder / "linked.yaml").is_symlink()
    assert "symbolic link" in client.get("/preview?name=linked").text


def test_a_dangling_link_is_not_written_through(client: TestClient, file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parent.parent / "made.yaml")
    assert saved(client, CHANGED).status_code in (412, 422)
    assert saved(client, CHANGED, "gone").status_code in (412, 422)
    assert not (file.parent.parent / "made.yaml").exists()


def test_a_text_that_could_not_be_read_again_is_refused(client: TestClient, file: Path) -> None:
    assert saved(client, b"kind: \xff").status_code == 422
    assert saved(client, "x" * (LARGEST + 1)).status_code == 413
    assert file.read_text(encoding="utf-8") == GOOD
    file.write_bytes(b"kind: \xff")
    assert saved(client, CHANGED).status_code == 422
    assert file.read_bytes() == b"kind: \xff"


def test_line_ends_do_not_make_a_file_too_large(client: TestClient, file: Path) -> None:
    file.write_bytes(b"a\r\n")
    assert saved(client, "\n" * (LARGEST - 1)).status_code == 422
    assert file.read_bytes() == b"a\r\n"


def test_a_disk_that_is_full_leaves_the_file_as_it_was(
    client: TestClient, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.authoring.preview.os.fsync", full)
    before = {path.name for path in file.parent.iterdir()}
    reply = saved(client, CHANGED)
    assert reply.status_code == 422
    assert reply.text == "The file cannot be written: no space left on device."
    assert file.read_text(encoding="utf-8") == GOOD
    assert {path.name for path in file.parent.iterdir()} == before


def test_a_change_at_the_last_moment_is_not_written_over(
    client: TestClient, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(_: int) -> None:
        file.write_text(f"{GOOD}# late\n", encoding="utf-8")

    monkeypatch.setattr("app.authoring.preview.os.fsync", late)
    assert saved(client, CHANGED).status_code == 412
    assert file.read_text(encoding="utf-8") == f"{GOOD}# late\n"
