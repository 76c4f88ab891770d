"""The catalogs: complete, of the present sources, and compiled."""

import gettext
import io
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Message

from app.config import ROOT
from app.translation import CATALOGS, LANGUAGES, SOURCE, sentences
from app.translation.compiled import read_compiled
from tests import translations
from tests.translations import as_json, as_mo, as_po, fields, is_complete, read, updated

OTHERS = [code for code in LANGUAGES if code != SOURCE]
REGISTER = {"de": r"\b([Dd]u|[Dd]ein\w*|Sie können|Ihre?[mnrs]? )\b", "zh": "您"}
# Templates whose readers read English: authors of exercises, as in the documentation.
ENGLISH = ("authoring/", "reference/authoring.html", "starters/", "figures/")
# What stays the same in every language: names, units, signs.
SAME = {"Wallclock", "UTC", "py", "start"}  # the last is an attribute after a condition
_MARKED = re.compile(r"\{%\s*trans\b.*?\{%\s*endtrans\s*\+?%\}", re.DOTALL)
_NOT_SHOWN = re.compile(
    r"\{#.*?#\}|<(style|script|pre|textarea|code)\b.*?</\1>|<(?!/?[a-z])[^>]*>", re.DOTALL
)
_TAG = re.compile(r"</?[a-zA-Z!](?:\{\{.*?\}\}|\{%.*?%\}|[^>{]|\{(?![{%#]))*>", re.DOTALL)
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_SAID = re.compile(r'\b(?:aria-label|placeholder|title|alt)="([^"{]*[a-z]{2} ?[^"{]*)"')


def messages(code: str) -> list[Any]:
    return [message for message in read(code) if message.id]


def forms(message: Message) -> list[str]:
    """The translation of *message*, of which there are several if it counts something."""
    said = message.string or ""
    return [said] if isinstance(said, str) else list(said)


@pytest.mark.parametrize("code", OTHERS)
def test_every_sentence_has_a_translation(code: str) -> None:
    assert [message.id for message in messages(code) if not is_complete(message)] == []
    assert len(messages(code)) > 1000


@pytest.mark.parametrize("code", OTHERS)
def test_placeholders_and_tags_are_those_of_the_sentence(code: str) -> None:
    for message in messages(code):
        first, last = forms(message)[0], forms(message)[-1]
        if isinstance(message.id, tuple):
            assert fields(last) == fields(message.id[1]), message.id
            assert set(fields(first)) <= set(fields(message.id[1])), message.id
        else:
            assert fields(last) == fields(str(message.id)), message.id
            is_apart = last[:1].isspace() == str(message.id)[:1].isspace()
            assert is_apart or code == "zh", message.id  # whose signs need no space


@pytest.mark.parametrize("code", OTHERS)
def test_the_register_is_the_one_of_the_catalog(code: str) -> None:
    said = json.dumps([message.string for message in messages(code)], ensure_ascii=False)
    assert re.findall(REGISTER[code], said) == []


@pytest.mark.parametrize("code", OTHERS)
def test_the_catalog_is_up_to_date_with_the_sources(code: str) -> None:
    """Otherwise: make translations."""
    catalog = updated(code)
    assert as_po(catalog).decode() == (CATALOGS / f"{code}.po").read_text("utf-8")
    assert as_mo(catalog) == (CATALOGS / f"{code}.mo").read_bytes()
    assert as_json(catalog) == (CATALOGS / f"{code}.json").read_text("utf-8")


@pytest.mark.parametrize("code", OTHERS)
def test_the_compiled_catalog_says_what_the_catalog_says(code: str) -> None:
    compiled: Any = gettext.GNUTranslations(io.BytesIO((CATALOGS / f"{code}.mo").read_bytes()))
    for message in messages(code):
        if isinstance(message.id, str):
            assert compiled.gettext(message.id) == message.string
        else:
            one, many = message.id
            assert compiled.ngettext(one, many, 1) == forms(message)[0]
            assert compiled.ngettext(one, many, 7) == forms(message)[-1]


@pytest.mark.parametrize("code", OTHERS)
def test_all_sentences_of_a_language_are_those_of_its_catalog(code: str) -> None:
    said = dict(sentences(code).said)
    about = str(said.pop(""))  # the catalog itself
    assert about.startswith("Project-Id-Version: ")
    expected: dict[str | tuple[str, int], str] = {}
    for message in messages(code):
        if isinstance(message.id, str):
            expected[message.id] = message.string
        else:
            expected |= {(message.id[0], form): each for form, each in enumerate(forms(message))}
    assert said == expected


def test_a_catalog_of_either_byte_order_is_read() -> None:
    charset = "Content-Type: text/plain; charset=utf-8\n"
    given = [b"", b"day\0days", b"week"], [charset.encode(), b"Tag\0Tage", "Wöchlein".encode()]
    for order in "<>":
        tables, texts = b"", b""
        for text in [text for column in given for text in column]:
            tables += struct.pack(f"{order}2I", len(text), 28 + 6 * 8 + len(texts))
            texts += text + b"\0"
        catalog = struct.pack(f"{order}7I", 0x950412DE, 0, 3, 28, 28 + 3 * 8, 0, 0) + tables + texts
        assert gettext.GNUTranslations(io.BytesIO(catalog)).gettext("week") == "Wöchlein"
        said = {"": charset, ("day", 0): "Tag", ("day", 1): "Tage", "week": "Wöchlein"}
        assert read_compiled(catalog) == said


def test_no_template_has_a_sentence_outside_of_the_catalogs() -> None:
    bare = {
        name: found
        for path in sorted((ROOT / "templates").rglob("*.html"))
        if not (name := path.relative_to(ROOT / "templates").as_posix()).startswith(ENGLISH)
        if (found := sorted(unmarked(path.read_text("utf-8"))))
    }
    assert bare == {}


def unmarked(template: str) -> set[str]:
    """The words of *template* that a reader sees and no catalog has."""
    text = _NOT_SHOWN.sub(" ", _MARKED.sub(" ", template))
    said = set(_SAID.findall(text))
    for part in _JINJA.sub("\0", _TAG.sub("\0", text)).split("\0"):
        said |= set(re.findall(r"[A-Za-z][A-Za-z ,.’'-]+", part))
    return {one.strip() for one in said if one.strip(" .,-") not in SAME | {""}}


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("<p>Bare words</p>", {"Bare words"}),
        ("<p>{% trans %}Marked{% endtrans %} {{ page.name }}</p>", set()),
        ('<a aria-label="Close it" class="two words">{{ _("Close") }}</a>', {"Close it"}),
        ("{% if a > b %}<b>{{ x }}</b> left{% endif %}", {"left"}),
    ],
)
def test_the_walk_finds_bare_words(template: str, found: set[str]) -> None:
    assert unmarked(template) == found


def test_scripts_say_their_sentences_through_the_catalog() -> None:
    shown = re.compile(r"(?:textContent = |confirm\()[\"`](?=[^\"`]*[a-z])")
    for path in sorted((ROOT / "static").glob("*.js")):
        assert shown.findall(path.read_text("utf-8")) == [], path.name


def test_the_tool_keeps_what_was_translated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "de.po").write_text(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n\n'
        'msgid "Check"\nmsgstr "Prüfen"\n\nmsgid "Never said"\nmsgstr "Nie gesagt"\n'
    )
    monkeypatch.setattr(translations, "CATALOGS", tmp_path)
    monkeypatch.setattr(translations, "found", lambda: {"Check": {"a.html"}, "New": {"b.html"}})
    catalog = updated("de")
    assert {message.id: message.string for message in catalog if message.id} == {
        "Check": "Prüfen",
        "New": "",
    }
