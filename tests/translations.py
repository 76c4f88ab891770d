"""`make translations`: the catalogs of sentences, brought up to date with the sources.

It finds the sentences of templates, Python, scripts, labs, the glossary and the fields of records, keeps their translations, and drops what is
not said any more. A sentence without a translation is in the catalog, empty, and is listed.
"""

import ast
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

from app.core.folders import ROOT
from app.core.formulas.records import hints_of
from app.core.translation import LANGUAGES, SOURCE
from app.core.translation.languages import CATALOGS
from app.course.content.errata import FILE as GLOSSARY
from app.course.content.errata import terms
from app.labs.spec import LIBRARY, known_labs
from app.site.labs.words import lab_sentences
from app.site.web.reference import formulas
from app.site.web.reference.formulas import TABLES, field_words

# What marks a sentence; in Python, how many of its arguments are sentences.
PYTHON = {
    "translate": 1, "translate_known": 1, "noted": 1, "say": 1, "value_error": 1, "input_error": 1,
    "refused_error": 1, "plural": 2,
}  # fmt: skip
FORMS = ("say", "value_error", "input_error", "refused_error", "translate")  # those that fill in values
SCRIPTS = {"say": None}
TEMPLATES = {"_": None}
_OPTIONS = {
    "trimmed": "true", "lstrip_blocks": "true", "trim_blocks": "true", "newstyle_gettext": "true",
}  # fmt: skip
_ALWAYS = datetime(2026, 1, 1, tzinfo=UTC)  # a date would change in every commit
_FIELD = re.compile(r"%%|%\((\w+)\)s|\{(\w+)[^{}]*\}|</?[a-zA-Z][^>]*>")

# A sentence: the English one, or two of them, one for the singular.
Key = str | tuple[str, str]


@cache
def found() -> Mapping[Key, set[str]]:
    """Every sentence that is marked, and the files that say it."""
    keys: dict[Key, set[str]] = {}
    for path, sentences in _sources():
        for text in sentences:
            keys.setdefault(text, set()).add(path.relative_to(ROOT).as_posix())
    return keys


def said(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Each call that says a sentence with values, and its English, which may be noted as `form` above it."""
    for scope in ast.walk(tree):
        match scope:
            case ast.Call(ast.Name(name), [ast.Constant(str(form)), *_]) if name in FORMS:
                yield scope, form
            case ast.FunctionDef():
                yield from _said_by_form(scope)


def _said_by_form(function: ast.FunctionDef) -> Iterator[tuple[ast.Call, str]]:
    forms: dict[int, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name("form")], ast.Call(ast.Name("noted"), [ast.Constant(str(form))])):
                forms[node.lineno] = form
    for node in ast.walk(function):
        match node:
            case ast.Call(ast.Name(name), [ast.Name("form"), *_]) if name in FORMS:
                if above := [line for line in forms if line < node.lineno]:
                    yield node, forms[max(above)]


def _sources() -> Iterator[tuple[Path, Iterable[Key]]]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield path, _extracted("jinja2.ext:babel_extract", path, TEMPLATES)
    for path in sorted((ROOT / "app").rglob("*.py")):
        if "bundle" not in path.parts:
            yield path, of_python(path)
    for path in scripts():
        yield path, of_script(path)
    for name, lab in known_labs().items():
        folder = LIBRARY / name.replace("-", "_")
        yield folder / "lab.yaml", sorted(lab_sentences(lab))
    yield GLOSSARY, sorted(term.says.strip() for term in terms().values())
    records = [record for _, _, known in TABLES for record in known.values()]
    yield Path(formulas.__file__), sorted({field_words(name) for record in records for name in hints_of(type(record))})


def scripts() -> list[Path]:
    """The scripts of pages, and of exported courses."""
    exported = ROOT / "app" / "exporting" / "browser" / "scripts"
    return sorted([*(ROOT / "static").glob("*.js"), *exported.glob("*.js")])


def of_python(path: Path, marks: Mapping[str, int] = PYTHON) -> Iterator[Key]:
    """The sentences that the module at *path* marks with one of *marks*."""
    text = path.read_text("utf-8")
    if not any(f"{mark}(" in text for mark in marks):
        return
    for call in ast.walk(ast.parse(text)):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        given = call.args[: marks.get(call.func.id, 0)]
        said = [one.value for one in given if isinstance(one, ast.Constant)]
        if said and len(said) == len(given):
            yield str(said[0]) if len(said) == 1 else (str(said[0]), str(said[1]))


def of_script(path: Path) -> Iterator[Key]:
    """The sentences that the script at *path* says."""
    return _extracted("javascript", path, SCRIPTS)


def _extracted(method: str, path: Path, words: Mapping[str, None]) -> Iterator[Key]:
    is_template = method.startswith("jinja2")
    options = _OPTIONS if is_template else {}
    every = {**words, "ngettext": (1, 2), "gettext": None} if is_template else words
    for _, key, _, _ in extract(method, io.BytesIO(path.read_bytes()), every, options=options):
        yield key if isinstance(key, str) else (key[0], key[1])


def read(code: str) -> Catalog:
    """The catalog of the language *code*."""
    path = CATALOGS / f"{code}.po"
    with path.open("rb") as file:
        return read_po(file, locale=code)


def _headers(catalog: Catalog) -> list[tuple[str, str]]:
    """The first lines of *catalog*, without the version of Babel: all of them write the same."""
    lines = [line for line in Catalog.mime_headers.__get__(catalog) if line[0] != "Generated-By"]
    name, value = lines.pop()
    return [*lines, (name, f"{value}\n")]


class _Anyones(Catalog):
    mime_headers = property(_headers)


def updated(code: str) -> Catalog:
    """The catalog of *code* with exactly the sentences that are said, in the order of their text."""
    before = read(code)
    after = _Anyones(
        locale=code, project="Wallclock", version="", header_comment=before.header_comment,
        creation_date=_ALWAYS, revision_date=_ALWAYS, fuzzy=False, charset="utf-8",
        copyright_holder="", msgid_bugs_address="", last_translator="", language_team="",
    )  # fmt: skip
    for key, files in sorted(found().items(), key=lambda item: _first(item[0])):
        known = before.get(_first(key))
        kept = known.string if known and isinstance(known.id, tuple) == isinstance(key, tuple) else ""
        shown: Any = [(name, None) for name in sorted(files)]  # without lines, which change often
        after.add(key, kept or "", locations=shown, flags=known.flags if known else ())
    return after


def _first(key: Key | Sequence[str]) -> str:
    return key if isinstance(key, str) else key[0]


def as_po(catalog: Catalog) -> bytes:
    """*catalog* as the file that translators edit."""
    file = io.BytesIO()
    write_po(file, catalog, width=100, ignore_obsolete=True)
    return file.getvalue()


def fields(text: str) -> list[str]:
    """What a translation must have as often as its sentence: placeholders and tags."""
    return sorted(match[0] for match in _FIELD.finditer(text))


def is_complete(message: Message) -> bool:
    """Whether *message* has a translation, in every form, that nobody doubts."""
    forms = message.string if isinstance(message.string, (list, tuple)) else [message.string]
    return all(forms) and not message.fuzzy


def missing(catalog: Catalog) -> list[Message]:
    """The sentences of *catalog* that have no translation."""
    return [message for message in catalog if message.id and not is_complete(message)]


def untranslated() -> int:
    """How many sentences have no translation, in all languages together."""
    return sum(len(missing(updated(code))) for code in LANGUAGES if code != SOURCE)


def main() -> int:
    """Write the catalogs, and list what has no translation; 1 if there is any."""
    status = 0
    for code in LANGUAGES:
        if code == SOURCE:
            continue
        catalog = updated(code)
        (CATALOGS / f"{code}.po").write_bytes(as_po(catalog))
        lacking = missing(catalog)
        status = 1 if lacking else status
        said = f"{code}: {len(catalog)} sentences, {len(lacking)} without a translation"
        sys.stdout.write("\n".join([said, *map(_listed, lacking), ""]))
    return status


def _listed(message: Message) -> str:
    """A line about *message*: where it is said, and what it says."""
    files = ", ".join(sorted(path for path, _ in message.locations))
    return f"  {files}: {_first(message.id)}"


if __name__ == "__main__":
    sys.exit(main())
