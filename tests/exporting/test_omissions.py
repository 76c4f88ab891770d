"""What an export leaves out of a page, and where its addresses lead, without an export."""

import pytest

from app.exporting.omissions import ExportedPages, addresses_in, file_path, rewrite_addresses, without_unserved
from tests.each import each

KNOWN = ExportedPages({"/", "/errata", "/labs", "/labs/x", "/exercises/a/b", "/chapters/a"}, "/server")


@each(
    ("address", "place"),
    [
        ("/", "/"),
        ("/errata", "/errata/"),
        ("/errata#a", "/errata/#a"),
        ("/errata?x=1#a", "/errata/?x=1#a"),
        ("/classes", "/server/"),
        ("/classes?x=1", "/server/"),
        ("/static/app.js", "/static/app.js"),
        ("/course/a.bin", "/course/a.bin"),
        ("/images/a/b.svg", "/images/a/b.svg"),
        ("/static-files", "/server/"),
        ("/explore/ring/0.svg?x=1", "/explore/ring/0.svg?x=1"),
        ("/explore/ring/12.csv", "/explore/ring/12.csv"),
        ("/explore/ring/0.png", "/server/"),
        ("/progress/export", "/progress/export"),
        ("/progress/other", "/server/"),
        ("/route?route=serve", "/route?route=serve"),
        ("/exercises/a/b/another", "/exercises/a/b/?seed=another"),
        ("/exercises/a/c/another", "/server/"),
    ],
)
def test_an_address_is_that_of_a_folder_a_file_or_what_says_that_it_is_not_there(address: str, place: str) -> None:
    assert KNOWN.placed(address) == place


@each(
    ("address", "served"),
    [
        ("/errata", True),
        ("/classes", False),
        ("/server", True),
        ("/labs/x", True),
        ("/labs/x?guess=1", False),
        ("/labs?x=1", False),
        ("/labs", True),
        ("/errata?x=1", True),
        ("/static/a.js", True),
    ],
)
def test_what_is_served_is_there_and_does_not_change_by_what_is_asked(address: str, served: bool) -> None:
    assert KNOWN.serves(address) is served


def test_addresses_are_those_of_the_site_alone() -> None:
    html = (
        '<a href="/errata?x=1#a"> <img src="/images/a.svg"> <form action="/labs"> <p data-next="/labs/x"> '
        '<a href="//evil.example"> <a href="https://a.example/b"> <a href="errata"> <p title="/no">'
    )
    assert list(addresses_in(html)) == ["/errata?x=1#a", "/images/a.svg", "/labs", "/labs/x"]
    assert 'href="X/errata?x=1#a"' in rewrite_addresses(html, lambda address: f"X{address}")
    assert '"//evil.example"' in rewrite_addresses(html, lambda address: f"X{address}")
    assert [file_path(page) for page in ("/errata", "/errata/", "/", "")] == ["/errata/", "/errata/", "/", "/"]


def test_a_page_is_rebased_for_a_course_under_a_path() -> None:
    assert KNOWN.rebased("/errata#a", "/c/") == "/c/errata/#a"
    assert KNOWN.rebased('<a href="/errata">E</a> <td><a href="/classes">C</a></td>', "/c/") == (
        '<a href="/c/errata/">E</a> <td>C</td>'
    )


@each(
    ("html", "left"),
    [
        ('<a href="/errata">E</a>', '<a href="/errata">E</a>'),
        ('<td><a href="/x">x</a></td>', "<td>x</td>"),
        ('<td><a href="https://a.example/">x</a></td>', '<td><a href="https://a.example/">x</a></td>'),
        ('<a class="button" href="/x">x</a>', ""),
        ('<a class="other" href="/x">x</a>!', "!"),
        ('<a href="/x" download>x</a>', ""),
        ('<ul><li><a href="/x">x</a></li> <li><a href="/errata">E</a></li></ul>', '<ul><li><a href="/errata">E</a></li></ul>'),
        ('<dl><dt><a href="/x">x</a></dt><dd>y</dd><dt>a</dt><dd>b</dd></dl>', "<dl><dt>a</dt><dd>b</dd></dl>"),
        ('<p class="quiet"><a href="/x">x</a>.</p>z', "z"),
        ('<p>One. Two <a href="/x">x</a> and <a href="/y">y</a>. Three.</p>', "<p>One. Three.</p>"),
        ('<p>One. Two <a href="/x">x</a> and <a href="/errata">E</a>. Three.</p>',
         '<p>One. Two x and <a href="/errata">E</a>. Three.</p>'),
        ('<p>In v1.2 see <a href="/x">x</a>. Two.</p>', "<p>Two.</p>"),
        ('<form method="post" action="/x">F</form>a', "a"),
        ('<form method="post" action="/theme">F</form>', '<form method="post" action="/theme">F</form>'),
        ('<form action="/errata">F</form>', '<form action="/errata">F</form>'),
        ('<form method="get" action="/errata">F</form>', '<form method="get" action="/errata">F</form>'),
        ('<form method="get" action="/labs">F</form>', ""),
        ('<form method="post" action="/labs">F</form>', '<form method="post" action="/labs">F</form>'),
        ('<form method="post">F</form>', ""),
        ("<form>F</form>", "<form>F</form>"),
        ('<section>A <form action="/x">F</form></section>B', "B"),
        ('<section>A <form action="/errata">F</form></section>', '<section>A <form action="/errata">F</form></section>'),
        ("<section>A</section>", "<section>A</section>"),
        ('<h2 id="a">A</h2> <dl class="b"> </dl>c', "c"),
        ("<p> </p>c", "c"),
    ],
)  # fmt: skip
def test_what_leads_nowhere_goes_with_what_is_said_of_it(html: str, left: str) -> None:
    assert without_unserved(html, KNOWN.serves) == left


def test_documentation_keeps_its_sentences() -> None:
    html = '<p>One. Two <a href="/x">x</a>. Three.</p>'
    assert without_unserved(html, KNOWN.serves, prose=False) == "<p>One. Two x. Three.</p>"


def test_a_sentence_that_is_far_away_does_not_belong_to_a_link() -> None:
    far = "a" * 900
    html = f'<p>One. {far} <a href="/x">x</a> b. Two.</p>'
    assert without_unserved(html, KNOWN.serves) == f"<p>One. {far} x b. Two.</p>"
    near = "a" * 700
    assert without_unserved(html.replace(far, near), KNOWN.serves) == "<p>One. Two.</p>"


@pytest.mark.parametrize("page", ["/server"])
def test_the_page_about_what_is_not_there_is_itself_served(page: str) -> None:
    assert KNOWN.serves(page)
