"""The files of an exported course one by one, without an export."""

import base64
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from httpx2 import Response

from app.core.errors import InputError, UnavailableError
from app.exporting import python
from app.exporting.course import digest, scripts, service, static_files, web_manifest
from app.exporting.pages import Page, as_file, crawl_pages
from app.exporting.python import (
    PACKAGE,
    WHEELS,
    Compiler,
    browser_python,
    browser_wheels,
    imports_of,
    licenses,
    licenses_of,
    modules,
    packages,
    packages_of,
)
from app.site.web.frame.assets import by_hashed_name
from tests.each import each


def test_a_file_is_called_after_its_content() -> None:
    assert digest(b"a") == hashlib.sha256(b"a").hexdigest()[:10] != digest(b"b")


def test_the_folder_of_the_scripts_is_another_one_after_a_change() -> None:
    folder, found = scripts()
    assert {"page.js", "theme.js", "xz.js"} <= set(found)
    assert "service.js" not in found, "it lies above them"
    names = [name for name in found if name != "xz.js"]
    assert names == sorted(names)
    assert folder == digest(b"".join(found.values()))
    hashed = set(by_hashed_name())
    imported = [name for content in found.values() for name in re.findall(rb'/static/([\w.]+)"', content)]
    assert {name.decode() for name in imported} <= hashed
    assert b"}(globalThis," in found["xz.js"]


def test_static_files_lead_to_each_other_and_pictures_for_other_sites_stay() -> None:
    found = dict(static_files())
    every = by_hashed_name()
    left = set(every) - set(found)
    assert left == {name for name in every if name.endswith(".png") and not name.startswith("icon-")}
    for name, content in found.items():
        if name.endswith((".js", ".css")) and not name.startswith("vendor/"):
            assert not re.search(rb'"/static/', content), name
            assert b'location.assign("/search")' not in content
            assert not re.search(rb'\b(?:from|import)[ (]?"(?![./])', content), f"{name} imports a package"
        else:
            assert content == every[name].body


def test_the_manifest_makes_the_whole_course_installable() -> None:
    found = json.loads(web_manifest())
    assert (found["start_url"], found["scope"], found["display"]) == ("../", "../", "standalone")
    assert [one["sizes"] for one in found["icons"]] == ["any", "180x180", "512x512"]
    assert all(one["src"].startswith("../static/") for one in found["icons"])


def test_the_service_worker_changes_with_any_of_the_contents() -> None:
    one = service([b"a", b"b"], ["x", "y"], bundle="pages.bin", folder="s")
    text = one.decode()
    known = json.loads(text[text.index('{"version"') : text.index("}", text.index('{"version"')) + 1])
    assert (known["files"], known["pages"], known["unpacks"]) == (["x", "y"], "pages.bin", "course/s/xz.js")
    assert (
        len(
            {
                service(contents, ["x", "y"], bundle="pages.bin", folder="s")
                for contents in ([b"a", b"b"], [b"a", b"c"], [b"ab"])
            }
        )
        == 3
    )
    assert "= COURSE" not in text


def answered(text: str, status: int = 200, kind: str = "text/html") -> Response:
    return Response(status, text=text, headers={"content-type": kind})


def crawled(pages: Mapping[str, Response | str]) -> dict[str, str]:
    """What is exported of a site whose *pages* are these, and whose others are empty."""

    def get(path: str) -> Response:
        found = pages.get(path, "")
        return answered(found) if isinstance(found, str) else found

    return {page.path: page.html for page in crawl_pages(get)}


def test_pages_are_followed_as_far_as_they_need_no_server() -> None:
    links = (
        "/errata", "/errata/E-01#a", "/exercises/a/b?seed=3", "/exercises/a/b/another", "/exercises/a", "/classes", "/me",
        "/explore/ring/0.svg", "/labs/x/y", "/labs/x/y/z", "/labs/x/samples.json", "/docs/a", "/trust", "/trust/0.svg",
        "/formulas/a.b", "/chapters/a", "/chapters/a/practice", "/measured",
    )  # fmt: skip
    found = crawled({"/": "".join(f'<a href="{link}">' for link in links), "/docs/a": '<a href="/docs/b">'})
    assert set(found) == {
        "/", "/server", "/search", "/scratch", "/progress", "/errata", "/errata/E-01", "/exercises/a/b", "/labs/x/y",
        "/docs/a", "/docs/b", "/trust", "/formulas/a.b", "/chapters/a",
    }  # fmt: skip


def test_an_exercise_on_no_list_opens_by_its_drawing_and_what_fails_is_told() -> None:
    found = crawled(
        {"/": '<a href="/exercises/a/b">', "/exercises/a/b": answered("", 307), "/exercises/a/b?seed=0": "drawn"}
    )
    assert found["/exercises/a/b"] == "drawn"
    for answer in (answered("", 500), answered("x", 200, "text/plain"), answered("", 404)):
        with pytest.raises(UnavailableError, match="/errata cannot be exported"):
            crawled({"/": '<a href="/errata">', "/errata": answer})


HTML = (
    '<head><meta name="viewport" content="x"><meta name="style-nonce" content="n0">'
    '<script type="module" src="/static/app.1.js"></script><script type="module" src="/static/exercise.2.js"></script></head>'
    '<main id="main" class="page">{}</main>'
)


def as_written(path: str, body: str, pages: tuple[str, ...] = ("/errata", "/")) -> str:
    return as_file(Page(path, HTML.format(body)), pages=[*pages, path], core={"a": "b"}, scripts="s1")


def test_a_page_as_a_file_asks_a_worker_and_has_relative_addresses() -> None:
    text = as_written("/exercises/a/b", '<a href="/errata">E</a><a href="/">H</a><a href="/errata#x">X</a>')
    assert ('href="../../../errata/"' in text, 'href="../../../"' in text, 'href="../../../errata/#x"' in text) == (
        True,
    ) * 3
    assert 'src="../../../course/s1/page.js"' in text
    assert "data-marks" in text
    assert "data-always" not in text
    assert "&quot;a&quot;: &quot;b&quot;" in text
    assert "'nonce-n0'" in text
    assert text.index("Content-Security-Policy") < text.index('name="viewport"')
    assert '<link rel="modulepreload" href="../../../static/exercise.2.js" data-later>' in text
    assert "app.1.js" not in text.partition("page.js")[0]
    assert 'href="errata/"' in as_written("/", '<a href="/errata">E</a>')


@each(
    ("path", "marks", "always"),
    [("/", True, False), ("/chapters/a", True, False), ("/errata", False, False), ("/progress", False, True)],
)
def test_pages_that_change_with_what_a_learner_did_are_made_again(path: str, marks: bool, always: bool) -> None:
    text = as_written(path, "x")
    assert ("data-marks" in text, "data-always" in text) == (marks, always)


def test_only_a_page_with_a_form_says_that_nothing_is_computed_without_scripts() -> None:
    assert "<noscript>" not in as_written("/errata", "x")
    assert "<noscript>" in as_written("/errata", '<form action="/errata">F</form>')
    choice = as_written("/errata", '<form class="a" action="/language" method="post"><button>de</button></form>')
    assert "/language" not in choice


def wheel(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, text in files.items():
            made.writestr(name.replace("__", "/").replace("_py", ".py").replace("_so", ".so"), text)
    return packed.getvalue()


def test_modules_and_licenses_are_taken_from_wheels() -> None:
    files = {"a-1.whl": wheel(a__b_py="1", a__c_so="2", a__readme="3", pydantic__v1__x_py="4", a__licenses__L="mine")}
    assert [name for name, _ in packages_of(files)] == ["a/b.py", "a/c.so"]
    assert list(licenses_of(files)) == ["a\n-\nmine"]


def test_wheels_of_a_folder_are_those_of_this_version(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"is missing: `pip download .* --dest \. annotated_types==0\.8\.0 pydantic==2\."
    ):
        browser_wheels(tmp_path, tmp_path)
    for name in WHEELS:
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InputError, match="its digest is another"):
        browser_wheels(tmp_path, tmp_path)
    with pytest.raises(InputError, match=f"is not {PACKAGE} of npm"):
        browser_python(tmp_path, tmp_path / next(iter(WHEELS)))
    with pytest.raises(InputError, match="cannot be read"):
        browser_python(tmp_path, tmp_path / "none")


def test_wheels_are_fetched_once_and_only_the_right_ones_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content, asked = "mine-1.0-py3-none-any.whl", b"right", list[list[str]]()
    monkeypatch.setattr(python, "WHEELS", {name: hashlib.sha256(content).hexdigest()})
    sent = [b"wrong", content]

    def download(command: list[str], **_: object) -> None:
        asked.append(command)
        (Path(command[command.index("--dest") + 1]) / name).write_bytes(sent.pop(0))

    monkeypatch.setattr(subprocess, "run", download)
    with pytest.raises(UnavailableError, match="has another digest: try again"):
        browser_wheels(tmp_path)
    for _ in range(3):
        assert browser_wheels(tmp_path) == {name: content}
    assert [command[-1] for command in asked] == ["mine==1.0"] * 2
    assert [path.name for path in (tmp_path / "wheels").iterdir()] == [name]
    assert browser_wheels(tmp_path, tmp_path / "wheels") == {name: content}

    def fail(command: list[str], **_: object) -> None:
        raise subprocess.SubprocessError

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(UnavailableError, match="fetch them elsewhere with `pip download"):
        browser_wheels(tmp_path / "other")


def test_python_for_browsers_is_made_of_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = wheel(os_py="1", ssl_py="2", unittest__case_py="3", encodings__utf_8_py="4", encodings__cp500_py="5")
    files = {
        "pyodide.mjs": b"one\n//# sourceMappingURL=x\ntwo", "pyodide.asm.mjs": b"glue", "pyodide.asm.wasm": b"wasm",
        "python_stdlib.zip": library, "pyodide-lock.json": b'{"info": {"a": 1}, "packages": {"b": 2}}',
    }  # fmt: skip
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    digest_of = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    monkeypatch.setattr(python, "_DIGEST", digest_of)
    monkeypatch.setattr(python, "WHEELS", {})
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (tmp_path / PACKAGE).write_bytes(packed.getvalue())
    for package in (None, tmp_path / PACKAGE):
        found = browser_python(tmp_path, package)
        assert (found.loader, found.glue, found.wasm) == (b"one\ntwo", b"glue", b"wasm")
        assert json.loads(found.lock) == {"info": {"a": 1}, "packages": {}}
        with zipfile.ZipFile(io.BytesIO(found.library)) as small:
            assert sorted(small.namelist()) == ["encodings/utf_8.py", "os.py"]
    (tmp_path / PACKAGE).write_bytes(b"another")
    monkeypatch.setattr(python, "urlopen", lambda *_, **__: io.BytesIO(packed.getvalue()))
    assert browser_python(tmp_path).wasm == b"wasm", "what is damaged is fetched again"
    assert (tmp_path / PACKAGE).read_bytes() == packed.getvalue()
    (tmp_path / PACKAGE).unlink()
    monkeypatch.setattr(python, "urlopen", lambda *_, **__: io.BytesIO(b"wrong"))
    with pytest.raises(UnavailableError, match="has another digest: try again"):
        browser_python(tmp_path)


def test_every_package_comes_with_its_license() -> None:
    text = licenses({"mine-1.whl": wheel(mine__licenses__L="Mine alone")})
    assert text.startswith("Pyodide\n-------\n")
    assert text.endswith("mine\n----\nMine alone")
    for package in ("fsrs", "jinja2", "markdown_it", "markupsafe", "mdit_py_plugins", "mdurl", "pygments"):
        heading = f"{package}\n{'-' * len(package)}\n"
        assert len(text.partition(heading)[2].partition("\n-")[0]) > 200, package


def test_what_was_made_once_is_read_from_the_cache(tmp_path: Path) -> None:
    compiler, made = Compiler({}, tmp_path / "new"), list[str]()

    def make() -> bytes:
        made.append("x")
        return b"content"

    assert [compiler.once("a", make) for _ in range(2)] == [b"content"] * 2
    assert (made, [path.name for path in (tmp_path / "new").iterdir()]) == (["x"], ["a"])
    compiler._node = None
    assert compiler.compiled(b"archive") == b"archive", "without Node, modules stay as they are"


def test_an_export_has_the_modules_that_its_desk_imports_and_no_server() -> None:
    found = modules()
    assert "app.core.formulas" in found or any(name.startswith("app.core") for name in found)
    assert not any(name.startswith(("app.commands", "app.classes.federation")) for name in found)
    names = {name for path in found.values() for name in imports_of(path)}
    assert {"re", "pydantic", "app.core.errors"} <= names
    assert dict(packages())
