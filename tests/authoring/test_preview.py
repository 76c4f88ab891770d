import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.authoring.preview import preview_app
from app.config import Settings
from app.errors import InputError
from app.main import create_site
from tests.authoring.test_lint import BUG
from tests.content.test_catalog import GOOD

pytestmark = pytest.mark.slow(10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my-course" / "first.yaml"
    path.parent.mkdir()
    path.write_text(GOOD, encoding="utf-8")
    return path


@pytest.fixture
def client(file: Path, tmp_path: Path, settings: Settings) -> Iterator[TestClient]:
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'p.db'}"}))
    with TestClient(preview_app(file, site)) as made:
        yield made


def test_a_file_is_shown_in_four_drawings_beside_its_proof(client: TestClient) -> None:
    page = client.get("/preview")
    assert page.status_code == 200
    assert page.text.count("<iframe") == 4
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert "How much is 1 twice?" in client.get("/exercises/my-course/first").text
    proof = client.get("/preview/proof").text
    assert "Proven" in proof
    assert "That is five times." in proof


def test_a_saved_file_is_fresh_and_a_broken_one_keeps_its_last_version(
    client: TestClient, file: Path
) -> None:
    stamp = client.get("/preview/stamp").text
    file.write_text(GOOD.replace("twice?", "doubled?"), encoding="utf-8")
    assert client.get("/preview/stamp").text != stamp
    assert "doubled?" in client.get("/exercises/my-course/first").text
    for broken in ("level: [", "level: 9", "given: {x: [1 parsec]}"):
        file.write_text(GOOD.replace("level: 1", broken), encoding="utf-8")
        assert "cannot be shown as it stands" in client.get("/preview").text
        assert "problem" in client.get("/preview/proof").text
        assert "doubled?" in client.get("/exercises/my-course/first").text
    file.unlink()
    assert client.get("/preview/stamp").text == "gone"
    assert "cannot be read" in client.get("/preview/proof").text


def test_files_are_listed_in_the_order_of_their_chapter(
    file: Path, tmp_path: Path, settings: Settings
) -> None:
    for name, key in (("a", "position: 9"), ("b", "position: 2"), ("c", "core: true")):
        file.with_stem(name).write_text(f"{GOOD}{key}\n", encoding="utf-8")
    file.with_stem("aa").write_text("kind: [", encoding="utf-8")
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'p.db'}"}))
    with TestClient(preview_app(file.parent, site)) as client:
        listed = re.findall(r'href="/preview\?name=(\w+)"', client.get("/preview").text)
    assert listed == ["c", "b", "a", "first", "aa"]


def test_an_unchanged_file_is_not_proven_again(
    client: TestClient, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = client.get("/preview/proof").text

    async def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("app.authoring.preview.lint_file", never)
    assert client.get("/preview/proof").text == first
    file.write_text(GOOD + "# changed\n", encoding="utf-8")
    assert client.get("/preview/proof").status_code == 500


def test_bugs_of_a_listing_are_counted(client: TestClient, file: Path) -> None:
    file.write_text(BUG + "mutate: [constant, factor]\n", encoding="utf-8")
    assert "bugs can be drawn" in client.get("/preview/proof").text


def test_other_files_of_a_folder_are_named(tmp_path: Path, file: Path, settings: Settings) -> None:
    (file.parent / "second.yaml").write_text(GOOD, encoding="utf-8")
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'q.db'}"}))
    with TestClient(preview_app(file.parent, site)) as client:
        assert "/preview?name=second" in client.get("/preview").text
        assert client.get("/preview?name=third").status_code == 404
        assert client.get("/preview?name=second").status_code == 200


def test_nothing_to_preview_is_said(tmp_path: Path, settings: Settings) -> None:
    site = create_site(settings.model_copy(update={"database": f"sqlite:///{tmp_path / 'r.db'}"}))
    try:
        with pytest.raises(InputError, match="wallclock new"):
            preview_app(tmp_path, site)
    finally:
        site.engine.dispose()
