"""Images beside exercises: served by content, and an SVG only if all it does is draw."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.errors import ContentError, Problem
from app.course.content.catalog import Catalog
from app.course.content.images import LARGEST, images_in, is_image, read_image, with_images
from app.course.content.translations import read_exercise
from tests.content.test_catalog import GOOD
from tests.each import each

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


def refused(path: Path) -> str:
    try:
        read_image(path)
    except ValueError as error:
        return str(error)
    return ""


def test_an_svg_has_60_levels_and_100_000_parts_at_most(tmp_path: Path) -> None:
    def of(inside: str) -> str:
        return refused(written(tmp_path, "a.svg", SVG.format(inside)))

    assert of("<g>" * 60 + "</g>" * 60) == ""
    assert "nested too deeply" in of("<g>" * 61 + "</g>" * 61)
    group = f'<g id="a">{"<path/>" * 98}</g>'  # 99 parts, and 100 with what uses it
    assert of(group + '<use href="#a"/>' * 999) == ""
    assert "draws more than 100,000 parts" in of(group + '<use href="#a"/>' * 999 + "<path/>")


@each(
    ("name", "body", "says"),
    [
        ("a.png", PNG + bytes(LARGEST - len(PNG)), ""),
        ("a.png", PNG + bytes(LARGEST - len(PNG) + 1), "has 1,000,001 bytes"),
        ("a.jpeg", b"\xff\xd8\xff", ""),
        ("a.gif", b"GIF87a", ""),
        ("a.gif", b"GIF88a", "is named as gif, and its content is no image that browsers know"),
        ("a.jpg", PNG, "is named as jpeg, and its content is png"),
        ("a.webp", b"RIFF0000WAVEfmt ", "no image that browsers know"),
        ("a.webp", b"LIST0000WEBPVP8 ", "no image that browsers know"),
        ("a.svg", f"<!--{' ' * 4085}-->" + SVG.format(""), ""),
        ("a.svg", f"<!--{' ' * 4086}-->" + SVG.format(""), "no image that browsers know"),
        ("a b.png", PNG, "an image's name must consist of"),
        ("-a.png", PNG, "an image's name must consist of"),
        ("a-b_c.1.png", PNG, ""),
    ],
)
def test_an_image_is_what_its_name_says(tmp_path: Path, name: str, body: bytes | str, says: str) -> None:
    found = refused(written(tmp_path, name, body))
    assert bool(found) == bool(says)
    assert says in found


@each(
    ("name", "is_one"),
    [("a.png", True), ("A.JPG", True), ("a.pdf", False), ("png", False), (".png", False), ("a/b.png", False)],
)
def test_an_image_is_known_by_its_name(name: str, is_one: bool) -> None:
    assert is_image(name) is is_one


def test_only_images_that_are_there_get_an_address(tmp_path: Path) -> None:
    written(tmp_path, "a.png", PNG)
    written(tmp_path, "a.pdf", PNG)
    values = {"text": ['![A](a.png) ![A](a.png "Title")', "![B](b.png) ![C](a.pdf) [D](a.png)", 3], "other": "a.png"}
    assert with_images(values, "chapter", tmp_path) == {
        "text": [
            '![A](/images/chapter/a.png) ![A](/images/chapter/a.png "Title")',
            "![B](b.png) ![C](a.pdf) [D](a.png)",
            3,
        ],
        "other": "a.png",
    }


def test_what_is_wrong_with_an_image_has_its_cure(tmp_path: Path) -> None:
    written(tmp_path, "b.svg", SVG.format('<path onload="alert(1)"/>'))
    written(tmp_path, "c.png", PNG + bytes(LARGEST))
    written(tmp_path, "d.png", b"text")
    written(tmp_path, "e.png", PNG)
    (tmp_path / "a.png").symlink_to("nowhere")
    problems: list[Problem] = []
    assert list(images_in(tmp_path, problems)) == [("e.png", tmp_path / "e.png")]
    assert [(one.path.name, one.cure) for one in problems] == [
        ("a.png", "check its name and permissions"),
        ("b.svg", "export it as a plain SVG without scripts and links, or as PNG"),
        ("c.png", "save it smaller, or draw it as SVG"),
        ("d.png", "save it again as .png, .jpg, .webp, .gif or a plain .svg"),
    ]
