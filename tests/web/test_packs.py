"""Pages of a site whose course a pack arranges."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.course.content.course import arrange_catalog, read_pack
from app.site import Site
from tests.content.test_images import SVG

# Pages that list something by chapter.
LISTS = ("/", "/explore", "/labs", "/labs/algorithms", "/formulas", "/errata", "/progress", "/glossary")
PACK = """\
name: mine
title: Mine
version: "1.0"
home: {title: Systems 101, opening: "Hand in *by Friday* & <b>smile</b>."}
order: [tensor]
hide: [memory]
pick: {collectives: [ring-all-reduce-time]}
"""


@pytest.fixture
def arranged_client(client: TestClient, site: Site, tmp_path: Path) -> Iterator[TestClient]:
    (tmp_path / "exercises").mkdir()
    (tmp_path / "pack.yaml").write_text(PACK)
    (tmp_path / "ring.svg").write_text(SVG.format("<path d='M0 0h1'/>"))
    catalog = arrange_catalog(site.catalog, [read_pack(tmp_path)])
    catalog = replace(catalog, images={"mine/ring.svg": tmp_path / "ring.svg"})
    client.app.state.site = replace(site, course=catalog)  # type: ignore[attr-defined]
    try:
        yield client
    finally:
        client.app.state.site = site  # type: ignore[attr-defined]


def test_the_front_page_is_that_of_the_pack(arranged_client: TestClient) -> None:
    shown = arranged_client.get("/").text
    assert "<h1>Systems 101</h1>" in shown
    assert "<em>by Friday</em> &amp; &lt;b&gt;smile&lt;/b&gt;" in shown
    assert "Who it is for" not in shown
    assert 'href="/chapters/memory"' not in shown
    assert shown.index('href="/chapters/tensor"') < shown.index('href="/chapters/collectives"')


def test_every_sort_of_page_opens_where_chapters_are_hidden(arranged_client: TestClient) -> None:
    for address in LISTS:
        assert arranged_client.get(address).status_code == 200, address


def test_a_hidden_chapter_says_so_and_its_exercises_open(arranged_client: TestClient, catalog: Catalog) -> None:
    shown = arranged_client.get("/chapters/memory").text
    assert "A chapter that this course does not list" in shown
    last = catalog.topic("collectives").exercises[-1].id
    assert arranged_client.get(f"/exercises/{last}").status_code == 200
    assert last not in arranged_client.get("/chapters/collectives").text
    listed = arranged_client.get("/api/v1/exercises").json()
    assert last not in {row["id"] for row in listed}


def test_an_image_is_served_by_its_content_and_never_runs(arranged_client: TestClient) -> None:
    found = arranged_client.get("/images/mine/ring.svg")
    assert found.headers["content-type"] == "image/svg+xml"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert "sandbox" in found.headers["content-security-policy"]
    again = {"if-none-match": found.headers["etag"]}
    assert arranged_client.get("/images/mine/ring.svg", headers=again).status_code == 304
    assert arranged_client.get("/images/mine/other.svg").status_code == 404
    assert arranged_client.get("/images/mine/..%2fpack.yaml").status_code == 404


def test_an_image_that_has_changed_for_the_worse_is_not_served(arranged_client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "ring.svg").write_text(SVG.format("<script>alert(1)</script>"))
    assert arranged_client.get("/images/mine/ring.svg").status_code == 404
