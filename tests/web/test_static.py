import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fastapi.testclient import TestClient

from app.core.folders import ROOT
from app.site.web.frame.assets import FOLDER, asset_url, assets, minify
from tests.each import each

WIDEST = 160


def written() -> Iterator[Path]:
    """The style sheets, scripts and templates that people edit."""
    for folder in (FOLDER, ROOT / "templates"):
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".css", ".js", ".html", ".svg"} and "vendor" not in path.parts:
                yield path


def colors(css: str) -> dict[str, str]:
    """The first value of each custom property of *css*."""
    found: dict[str, str] = {}
    for name, value in re.findall(r"--([\w-]+): ([^;]+);", css):
        found.setdefault(name, value)
    return found


def test_the_style_sheet_is_served_in_one_piece_and_minified(client: TestClient) -> None:
    css = "".join(client.get(asset_url(name)).text for name in ("app.css", "pages.css", "people.css"))
    assert "@import" not in css
    assert "/*" not in css
    assert "\n" not in css
    assert re.findall(r"url\((?!\./fonts/\w[\w-]*\.[0-9a-f]{10}\.woff2)", css) == []
    for part in (FOLDER / "css").iterdir():
        assert client.get(f"/static/css/{part.name}").status_code == 404
        *_, last = re.findall(r"^([^@\s/][^{,]*?) \{", part.read_text(), re.MULTILINE)
        assert minify(last) in css


@each(
    ("css", "small"),
    [
        ('a::after { content: "a ;  b"; }', 'a::after{content:"a ;  b"}'),
        ("a :hover, a:hover > b ~ c { width: calc(1px + 2px) }", "a :hover,a:hover>b~c{width:calc(1px + 2px)}"),
        ("/* One; */\n/* two */ a { b: c !important ; }\n\n", "a{b:c!important}"),
        (
            "@media (max-width: 9rem) and (print) { a { b: 1 /* x */ 2; } }",
            "@media (max-width:9rem) and (print){a{b:1 2}}",
        ),
        ("a { background: url(./a;b.svg) ; }", "a{background:url(./a;b.svg)}"),
    ],
)
def test_minifying_drops_only_what_says_nothing(css: str, small: str) -> None:
    assert minify(css) == small
    assert minify(small) == small


def test_a_figure_that_stands_alone_has_the_colors_of_the_pages() -> None:
    pages = colors((FOLDER / "css" / "tokens.css").read_text())
    light, dark = (ROOT / "templates/figures/palette.svg").read_text().split("@media")
    both = {name: (value, colors(dark)[name]) for name, value in colors(light).items()}
    only_alone = {"idle", "label"}  # on paper, and not on a page
    assert only_alone < set(both)
    for name in set(both) - only_alone:
        assert pages[name] == "light-dark({}, {})".format(*both[name]), name


def test_every_custom_property_is_defined_and_used() -> None:
    css = "".join(path.read_text() for path in written() if path.suffix != ".html")
    defined = set(re.findall(r"--([\w-]+):", css))
    used = set(re.findall(r"var\(--([\w-]+)", css))
    assert used == defined


def test_files_that_people_edit_fit_on_a_screen() -> None:
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in written()
        if path.name != "favicon.svg"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > WIDEST
    ]
    assert wide == []


def test_every_module_says_first_what_it_is() -> None:
    for path in FOLDER.glob("*.js"):
        assert path.read_text().startswith("// "), path.name
    assert assets()["app.js"].type == "text/javascript"


def test_the_vendored_editors_are_those_that_their_recipe_builds() -> None:
    """The same versions in the manifest, the recipe, its lock and the licenses; the very bytes."""
    vendor = FOLDER / "vendor"
    editors = json.loads((vendor / "manifest.json").read_text())
    assert set(editors) == {path.name for path in vendor.glob("*.js")}
    recipe = json.loads((vendor / "editor/package.json").read_text())
    for name, editor in editors.items():
        bundle = (vendor / name).read_bytes()
        assert hashlib.sha256(bundle).hexdigest() == editor["sha256"]
        assert len(bundle) == editor["bytes"]
        assert recipe["devDependencies"] == editor["built with"]
    used = {package: number for editor in editors.values() for package, number in editor["from"].items()}
    assert recipe["dependencies"] == used
    lock = json.loads((vendor / "editor/package-lock.json").read_text())["packages"]
    locked = {
        path.removeprefix("node_modules/"): package["version"]
        for path, package in lock.items()
        if path and not package.get("optional")  # esbuild's program for each platform
    }
    assert locked == {**used, **recipe["devDependencies"]}
    assert all("resolved" not in package for package in lock.values())
    named = re.findall(r"^== (\S+) (\S+) \(", (vendor / "LICENSES.txt").read_text(), re.MULTILINE)
    assert dict(named) == used


def test_the_recipe_of_the_editor_is_not_served(client: TestClient) -> None:
    assert client.get("/static/vendor/editor/entry.js").status_code == 404
    assert client.get("/static/vendor/codemirror.js").status_code == 200


def test_the_page_of_a_fault_has_its_status_its_headers_and_the_words_of_its_address(client: TestClient) -> None:
    lost = client.get("/nothing/ring-all_reduce%20time")
    assert lost.status_code == 404
    assert 'href="/search?q=ring%20all%20reduce%20time"' in lost.text
    assert 'href="/search?q=' not in client.get("/nothing/7").text, "an id, which no search finds"
    wrong = client.put("/glossary")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    foreign = client.post("/theme", data={"theme": "dark"}, headers={"Origin": "http://elsewhere"})
    assert foreign.status_code == 403
    assert "proxy_set_header Host $http_host;" in foreign.text


def test_a_choice_of_colors_and_of_a_language_is_kept_and_leads_back(client: TestClient) -> None:
    origin = {"Origin": "http://testserver"}
    dark = client.post("/theme", data={"theme": "dark", "back": "/labs?page=2"}, headers=origin)
    assert (dark.status_code, dark.headers["location"]) == (303, "/labs?page=2")
    assert "theme=dark" in dark.headers["set-cookie"]
    other = client.post("/theme", data={"theme": "pink", "back": "//evil.example"}, headers=origin)
    assert (other.headers["location"], "Max-Age=0" in other.headers["set-cookie"]) == ("/", True)
    german = client.post("/language", data={"language": "de", "back": "/labs"}, headers=origin)
    assert german.headers["location"] == "/labs"
    assert any("de" in value and "Max-Age=34560000" in value for value in german.headers.get_list("set-cookie"))
    none = client.post("/language", data={"language": "xx"}, headers=origin)
    assert all("Max-Age=0" in value for value in none.headers.get_list("set-cookie"))
