"""Exported pages lead to each other from wherever they lie; what needs a server says so."""

import hashlib
import json
import re
import struct
from pathlib import Path
from posixpath import join, normpath

import httpx2
import pytest

from app.__main__ import main
from app.core.errors import InputError, UnavailableError
from app.exporting import course
from app.exporting import python as browser
from app.exporting.omissions import ExportedPages, without_unserved
from app.exporting.pages import crawl_pages
from app.exporting.python import BROWSER, VERSION, browser_python
from tests.each import each

pytestmark = pytest.mark.slow(20)
LINK = re.compile(r'\s(?:href|src|action|data-app|data-editor)="([^"#?]*)[^"]*"')


def test_every_link_of_a_page_leads_to_a_file(files: dict[str, bytes]) -> None:
    for name, content in files.items():
        if not name.endswith("index.html"):
            continue
        folder = name.removesuffix("index.html")
        for link in LINK.findall(content.decode()):
            if not link or "://" in link or link.endswith((".svg", ".csv")):
                continue  # of figures: the worker draws them
            assert not link.startswith("/"), f"{name}: {link}"
            found = normpath(join(folder, link)).removeprefix(".").removeprefix("/")
            if found in ("progress/known", "route"):
                continue  # the worker answers them
            found = f"{found}/index.html".lstrip("/") if link.endswith("/") else found
            assert found in files, f"{name}: {link}"


def test_nothing_on_a_page_leads_to_what_an_export_has_not(files: dict[str, bytes]) -> None:
    for name, content in files.items():
        if name.endswith("index.html") and name != "server/index.html":
            text = re.sub(r'<form[^>]*action="[^"]*"[^>]*aria-label="Theme"', "", content.decode())
            found = re.findall(r'<(?:a|form)\b[^>]*"[./]*server/"[^>]*>', text)
            assert all("data-theme" in one or "theme" in one for one in found), (name, found)
    assert b'"../search/"' in files["errata/index.html"]
    assert b"Sign in" not in files["errata/index.html"]


SERVED = ExportedPages({"/", "/errata", "/labs/x", "/docs/a"}, "/server").serves


@each(
    ("html", "left"),
    [
        ('<li><a href="/errata">E</a></li><li><a href="/classes">C</a></li>', '<li><a href="/errata">E</a></li>'),
        (
            '<p><a href="/errata">E</a> · <a href="/final">G</a> · <a href="/errata">F</a></p>',
            '<p><a href="/errata">E</a> · <a href="/errata">F</a></p>',
        ),
        ('<p><a href="/final">G</a> · <a href="/errata">F</a></p>', '<p><a href="/errata">F</a></p>'),
        (
            '<p>One is there. A <a href="/final">final</a> asks, and a <a href="/placement">placement</a>. Two.</p>',
            "<p>One is there. Two.</p>",
        ),
        ('<p>Have a log? <a href="/measured">Compare it</a>.</p>', ""),
        (
            '<p>See <a href="/errata">E</a>, or <a href="/final">a guess</a>, today.</p>',
            '<p>See <a href="/errata">E</a>, or a guess, today.</p>',
        ),
        ('<h2>Yours</h2>\n<dl><dt><a href="/measured">M</a></dt><dd>Of yours.</dd></dl>', ""),
        ('<div><dt><a href="/final">G</a></dt><dd>The <a href="/errata">E</a>.</dd></div>', ""),
        ('<td><a href="/measured/x">x</a></td>', "<td>x</td>"),
        ('<a href="/trust/0.svg" download>SVG</a><a class="button" href="/final">G</a>', ""),
        ('<p>Read on.</p><section><h2>Add</h2><form method="post">F</form></section>', "<p>Read on.</p>"),
        ('<form method="get" action="/labs/x">F</form>', ""),
        ('<p>一。<a href="/final">考</a>。二。</p>', "<p>一。二。</p>"),
    ],
)
def test_what_needs_a_server_is_left_out_with_what_is_said_of_it(html: str, left: str) -> None:
    assert without_unserved(html, SERVED) == left
    kept = '<a href="/errata?x=1">E</a><form method="get" action="/errata">F</form>'
    assert without_unserved(kept, SERVED) == kept


def test_documentation_keeps_its_sentences() -> None:
    html = '<p>Open <a href="/final"><code>/final</code></a> there.</p>'
    assert without_unserved(html, SERVED, prose=False) == "<p>Open <code>/final</code> there.</p>"


def test_another_drawing_is_one_that_the_page_draws(files: dict[str, bytes]) -> None:
    page = files["exercises/collectives/ring-all-reduce-time/index.html"].decode()
    assert 'href="./?seed=another"' in page


def test_scripts_and_styles_name_each_other_beside_them(files: dict[str, bytes]) -> None:
    texts = [files[name].decode() for name in files if re.fullmatch(r"static/\w+\..*(js|css)", name)]
    assert not any("/static/" in text for text in texts)
    assert any("./fonts/" in text or '"./' in text for text in texts)


def test_a_page_runs_no_script_from_elsewhere(files: dict[str, bytes]) -> None:
    page = files["index.html"].decode()
    assert "script-src 'self'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"<script(?![^>]*\ssrc=)", page)


def test_a_home_screen_finds_icons_of_the_sizes_that_the_manifest_says(files: dict[str, bytes]) -> None:
    """Also that of iOS, which reads the page and takes no SVG."""
    (icon,) = re.findall(r'<link rel="apple-touch-icon" href="([^"]*)"', files["index.html"].decode())
    listed = json.loads(files["course/manifest.webmanifest"])["icons"]
    assert {one["type"] for one in listed} == {"image/svg+xml", "image/png"}
    pictures = {normpath(join("course", one["src"])): one for one in listed}
    assert normpath(icon) in pictures
    assert set(pictures) <= set(files)
    for name, one in pictures.items():
        if one["type"] == "image/png":
            width, height = struct.unpack(">II", files[name][16:24])
            assert one["sizes"] == f"{width}x{height}"


def test_a_device_that_keeps_the_course_knows_every_file(files: dict[str, bytes]) -> None:
    listed = files["service.js"].decode()
    known = json.loads(listed[listed.index("= {") + 2 : listed.index(";\n")])
    alone = {name for name in files if not name.endswith(".html")} - {"service.js", ".nojekyll"}
    assert alone - {known["pages"]} == set(known["files"])


def test_scripts_of_another_version_have_other_addresses(
    files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cache that still has the scripts of an earlier export is of no harm."""
    folder, _ = course.scripts()
    assert {f"course/{folder}/{name}" for name in ("page.js", "desk.js", "xz.js")} <= set(files)
    (tmp_path / "xz.js").write_bytes(b"// another")
    monkeypatch.setattr(course, "_DECOMPRESSOR", tmp_path / "xz.js")
    assert course.scripts()[0] != folder


def test_the_decompressor_is_the_published_one() -> None:
    vendor = BROWSER / "vendor"
    published = "d83649874b6198df07340a88377613ccd2267aebb9f18b3be26c6904a81bac52"
    assert hashlib.sha256((vendor / "xz-decompress.min.js").read_bytes()).hexdigest() == published
    assert b"globalThis" in course.scripts()[1]["xz.js"]


def test_what_others_wrote_comes_with_its_licenses(files: dict[str, bytes]) -> None:
    text = files["course/LICENSES.txt"].decode()
    assert text.startswith("Pyodide\n")
    assert text.endswith((BROWSER / "vendor" / "LICENSES.txt").read_text("utf-8"))


def test_a_script_says_its_sentences_in_the_language_of_the_page(files: dict[str, bytes]) -> None:
    (page,) = (name for name in files if name.endswith("/page.js"))
    (imported,) = re.findall(r'from "([^"]+say[^"]+)"', files[page].decode())
    assert normpath(join(page, "..", imported)) in files


def test_images_are_where_pages_look_for_them(files: dict[str, bytes]) -> None:
    assert files["images/mine/link.svg"].startswith(b"<svg")
    known = ExportedPages({"/errata"}, "/server")
    assert known.rebased('<img src="/images/mine/a.svg">', "/c/") == '<img src="/c/images/mine/a.svg">'


def test_another_package_than_the_right_one_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "pyodide.tgz"
    wrong.write_bytes(b"something else")
    with pytest.raises(InputError, match=f"npm pack pyodide@{VERSION}"):
        browser_python(tmp_path, wrong)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        browser_python(tmp_path, tmp_path / "missing.tgz")


def test_what_the_registry_gives_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f'#!/bin/sh\necho changed > "$5/{browser.PACKAGE}"\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UnavailableError, match="another digest"):
        browser_python(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    npm.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UnavailableError, match="--pyodide"):
        browser_python(tmp_path / "cache")


def test_nothing_but_an_export_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "thesis.tex"
    own.write_text("mine")
    assert main(["export", str(tmp_path)]) == 1
    assert "name a new folder" in capsys.readouterr().err
    assert main(["export", str(own)]) == 1
    assert "is a file" in capsys.readouterr().err
    assert own.read_text() == "mine"


def test_pages_of_an_earlier_export_are_gone(tmp_path: Path) -> None:
    for name in ("exercises/removed/index.html", "course/old.bin", "CNAME"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    course.without_earlier(tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["CNAME"]


def test_where_a_form_sends_a_file_is_not_a_page() -> None:
    html = '<form method="post" action="/labs/ring-bytes/board#add"></form><a href="/labs/ring-bytes">it</a>'
    paths = {page.path for page in crawl_pages(lambda _: httpx2.Response(200, html=html))}
    assert "/labs/ring-bytes" in paths
    assert "/labs/ring-bytes/board" not in paths
