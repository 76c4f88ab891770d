"""Images beside exercises: served by content, and an SVG only if all it does is draw."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.errors import ContentError
from app.course.content.catalog import Catalog
from app.course.content.images import LARGEST, read_image
from app.course.content.translations import read_exercise
from tests.content.test_catalog import GOOD

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'
Write = Callable[[str], Path]


def written(folder: Path, name: str, body: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(body.encode() if isinstance(body, str) else body)
    return path


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("a.png", PNG, "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a.GIF", b"GIF89a", "image/gif"),
        ("a.webp", b"RIFF0000WEBPVP8 ", "image/webp"),
        ("a.svg", SVG.format('<path d="M0 0h1" fill="url(#g)"/><use href="#a"/>'), "image/svg+xml"),
        ("a.svg", '<?xml version="1.0"?>' + SVG.format("<style>a{fill:url('#g')}</style>"), "image/svg+xml"),
    ],
)
def test_an_image_has_the_type_of_its_content(tmp_path: Path, name: str, body: bytes | str, kind: str) -> None:
    assert read_image(written(tmp_path, name, body))[1] == kind


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>',
        "<foreignObject><b/></foreignObject>",
        '<path onload="alert(1)"/>',
        '<a href="https://example.org"/>',
        '<use href="https://example.org/a.svg#b"/>',
        '<use xlink:href="data:image/svg+xml,x"/>',
        '<image href="a.png"/>',
        '<path style="fill: url(https://example.org/a)"/>',
        "<style>@import 'https://example.org/a.css';</style>",
        '<animate attributeName="href" values="javascript:alert(1)"/>',
        '<set attributeName="onmouseover" to="alert(1)"/>',
        r'<path style="fill: u\72l(https://example.org/a)"/>',
        r"<style>path { fill: \75rl(https://example.org/a) }</style>",
        r"<style>@\69mport 'https://example.org/a.css';</style>",
        "<style>@namespace url(#a);</style>",
        '<path style="fill: url/**/(https://example.org/a)"/>',
        '<g xml:base="https://example.org/"><use href="#a"/></g>',
        "<style>@font-face { src: local('a') }</style>",
        "<path style=\"fill: image-set('https://example.org/a' 1x)\"/>",
        "<path style=\"fill: src('https://example.org/a')\"/>",
        "<path style=\"fill: -webkit-cross-fade('//example.org/a', red)\"/>",
        '<i:inkscape xmlns:i="http://www.w3.org/1999/xhtml" onfocus="alert(1)" tabindex="0"/>',
        '<path xmlns:i="http://www.w3.org/1999/xlink" i:href="https://example.org/#inkscape"/>',
    ],
)
def test_an_svg_that_does_more_than_draw_is_refused(tmp_path: Path, inside: str) -> None:
    with pytest.raises(ValueError, match=r"element|attribute|links|loads|style"):
        read_image(written(tmp_path, "a.svg", SVG.format(inside)))


def bomb(deep: int, before: str, part: str, after: str) -> str:
    """Parts that each use the next one twice; the last one is a line."""
    parts = (before.format(i) + part.format(i + 1) * 2 + after for i in range(deep))
    return "".join(parts) + before.format(deep) + '<path d="M0 0h1"/>' + after


@pytest.mark.parametrize(
    "inside",
    [
        bomb(40, '<g id="a{}">', '<use href="#a{}"/>', "</g>"),
        bomb(40, '<symbol id="a{}">', '<use xlink:href=" #a{} "/>', "</symbol>").replace(" #", "#"),
        bomb(40, '<pattern id="a{}">', '<rect fill="url(#a{})"/>', "</pattern>"),
        bomb(40, '<mask id="a{}">', "<rect style=\"mask: URL( '#a{}' )\"/>", "</mask>"),
        '<g id="a"><use href="#a"/></g>',
        '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>',
        "<g>" * 200 + "</g>" * 200,
        "<style>.a { fill: url(#a) } .b { fill: url(#b) }</style>"
        '<pattern id="a"><rect class="b"/></pattern><pattern id="b"><rect/></pattern>',
    ],
)
def test_an_svg_that_draws_without_end_is_refused(tmp_path: Path, inside: str) -> None:
    with pytest.raises(ValueError, match=r"parts|a part other than a gradient"):
        read_image(written(tmp_path, "a.svg", SVG.format(inside)))


@pytest.mark.parametrize(
    "inside",
    [
        bomb(8, '<g id="a{}">', '<use href="#a{}"/>', "</g>"),
        '<g xmlns:i="http://www.inkscape.org/namespaces/inkscape" i:file="C:\\a.svg"><path/></g>',
        "<style>/* a\nlist(s) */ @media print { .a { fill: url(#g); color: rgb(1, 2, 3) } }</style>"
        '<linearGradient id="g"><stop/></linearGradient>',
        '<g aria-label="image(s) of a@b" id="a" transform="translate(1 2) scale(3)"/>',
    ],
)
def test_an_svg_of_an_editor_is_served(tmp_path: Path, inside: str) -> None:
    assert read_image(written(tmp_path, "a.svg", SVG.format(inside)))[1] == "image/svg+xml"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG.format("&a;"), "DOCTYPE"),
        ('<?xml-stylesheet href="https://example.org/a.css"?>' + SVG.format(""), "style sheet"),
        (SVG.format("<g>"), "not well-formed"),
        ("<svg><script/></svg>", "lacks xmlns"),
        ("<html><svg></svg></html>", "lacks xmlns"),
        (PNG, "named as svg.xml, and its content is png"),
    ],
)
def test_what_only_looks_like_an_svg_is_refused(tmp_path: Path, body: bytes | str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_image(written(tmp_path, "a.svg", body))


def test_a_large_image_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most 1,000,000"):
        read_image(written(tmp_path, "a.png", PNG + bytes(LARGEST)))
    (tmp_path / "b.png").mkdir()
    with pytest.raises(ValueError, match="not a regular file"):
        read_image(tmp_path / "b.png")


def test_an_image_beside_an_exercise_has_an_address(exercise_file: Write) -> None:
    file = exercise_file(GOOD.replace("prompt: ", 'prompt: "![Two boxes](boxes.png) "\n#'))
    assert "![Two boxes](boxes.png)" in read_exercise(file, "chapter")[0].prompt
    written(file.parent, "boxes.png", PNG)
    assert "![Two boxes](/images/chapter/boxes.png)" in read_exercise(file, "chapter")[0].prompt
    catalog = Catalog.read([file.parent.parent])
    assert catalog.images == {"chapter/boxes.png": file.parent / "boxes.png"}


def test_a_bad_image_stops_the_start_with_a_cure(exercise_file: Write) -> None:
    file = exercise_file(GOOD)
    written(file.parent, "a.svg", SVG.format("<script/>"))
    with pytest.raises(ContentError) as caught:
        Catalog.read([file.parent.parent])
    (problem,) = caught.value.problems
    assert "has the element <script>" in problem.says
    assert "plain SVG" in problem.cure
