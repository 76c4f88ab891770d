"""`make translations`: the catalogs of sentences, brought up to date with the sources.

It finds the sentences of templates, Python, scripts, labs and the glossary, keeps their translations, and drops what is
not said any more. A sentence without a translation is in the catalog, empty: `tests/translation`
names it. The compiled catalogs are written as well.
"""

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from app.config import ROOT
from app.content.glossary import FILE as GLOSSARY
from app.content.glossary import terms
from app.labs.spec import LIBRARY, known_labs
from app.labs.telling import words_of
from app.translation import CATALOGS, LANGUAGES, SOURCE

# What marks a sentence, and which of its arguments are sentences.
PYTHON = {"translate": None, "noted": None, "plural": (1, 2)}
SCRIPTS = {"say": None}
TEMPLATES = {"_": None}
_OPTIONS = {"trimmed": "true", "lstrip_blocks": "true", "trim_blocks": "true"}
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


@cache
def of_scripts() -> set[Key]:
    """The sentences that scripts say."""
    return {key for path in _scripts() for key in _extracted("javascript", path, SCRIPTS)}


def _sources() -> Iterator[tuple[Path, Iterable[Key]]]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield path, _extracted("jinja2.ext:babel_extract", path, TEMPLATES)
    for path in sorted((ROOT / "app").rglob("*.py")):
        if "bundle" not in path.parts and path != CATALOGS.parent / "__init__.py":
            yield path, _extracted("python", path, PYTHON)
    for path in _scripts():
        yield path, _extracted("javascript", path, SCRIPTS)
    for name, lab in known_labs().items():
        folder = LIBRARY / name.replace("-", "_")
        yield folder / "lab.yaml", sorted(words_of(lab))
    yield GLOSSARY, sorted(term.says.strip() for term in terms().values())


def _scripts() -> list[Path]:
    exported = ROOT / "app" / "exporting" / "browser" / "scripts"
    return sorted([*(ROOT / "static").glob("*.js"), *exported.glob("*.js")])


def _extracted(
    method: str, path: Path, words: Mapping[str, tuple[int, ...] | None]
) -> Iterator[Key]:
    text = path.read_bytes()
    if method == "python" and not any(word.encode() + b"(" in text for word in words):
        return
    options = _OPTIONS if method.startswith("jinja2") else {}
    every = {**words, "ngettext": (1, 2), "gettext": None} if options else words
    for _, key, _, _ in extract(method, io.BytesIO(text), every, options=options):
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
        kept = (
            known.string if known and isinstance(known.id, tuple) == isinstance(key, tuple) else ""
        )
        shown: Any = [(name, None) for name in sorted(files)]  # without lines, which change often
        after.add(key, kept or "", locations=shown, flags=known.flags if known else ())
    return after


def _first(key: Key | str) -> str:
    return key if isinstance(key, str) else key[0]


def as_po(catalog: Catalog) -> bytes:
    """*catalog* as the file that translators edit."""
    file = io.BytesIO()
    write_po(file, catalog, width=100, ignore_obsolete=True)
    return file.getvalue()


def as_mo(catalog: Catalog) -> bytes:
    """*catalog* as the file that the server reads."""
    file = io.BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def as_json(catalog: Catalog) -> str:
    """The sentences of the scripts, as a page carries them."""
    keys = sorted(_first(key) for key in of_scripts())
    said = {key: message.string for key in keys if (message := catalog.get(key))}
    return json.dumps(said, ensure_ascii=False, indent=0) + "\n"


def fields(text: str) -> list[str]:
    """What a translation must have as often as its sentence: placeholders and tags."""
    return sorted(match[0] for match in _FIELD.finditer(text))


def is_complete(message: Message) -> bool:
    """Whether *message* has a translation, in every form, that nobody doubts."""
    forms = message.string if isinstance(message.string, (list, tuple)) else [message.string]
    return all(forms) and not message.fuzzy


def main() -> int:
    """Write the catalogs; how many sentences have no translation."""
    missing = 0
    for code in LANGUAGES:
        if code == SOURCE:
            continue
        catalog = updated(code)
        (CATALOGS / f"{code}.po").write_bytes(as_po(catalog))
        (CATALOGS / f"{code}.mo").write_bytes(as_mo(catalog))
        (CATALOGS / f"{code}.json").write_text(as_json(catalog), "utf-8")
        empty = [message for message in catalog if message.id and not is_complete(message)]
        missing += len(empty)
        sys.stdout.write(f"{code}: {len(catalog)} sentences, {len(empty)} without a translation\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
