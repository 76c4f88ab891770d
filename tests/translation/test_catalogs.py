"""The catalogs: what is in them, and how they are read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Message

from app.core.folders import ROOT
from app.core.translation import LANGUAGES, SOURCE, of_scripts
from app.core.translation.catalog import read_catalog
from app.core.translation.languages import catalog
from tests import translations
from tests.translations import fields, is_complete, read, updated

OTHERS = [code for code in LANGUAGES if code != SOURCE]
REGISTER = {"de": r"\b([Dd]u|[Dd]ein\w*|Sie können|Ihre?[mnrs]? )\b", "zh": "您"}
# Templates whose readers read English: authors of exercises, as in the documentation.
ENGLISH = ("authoring/", "reference/authoring.html", "reference/units.html", "starters/", "figures/")
# What stays the same in every language: names, units, signs.
SAME = {"Wallclock", "UTC", "py", "start"}  # the last is an attribute after a condition
_MARKED = re.compile(r"\{%\s*trans\b.*?\{%\s*endtrans\s*\+?%\}", re.DOTALL)
_NOT_SHOWN = re.compile(r"\{#.*?#\}|<(style|script|pre|textarea|code)\b.*?</\1>|<(?!/?[a-z])[^>]*>", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z!](?:\{\{.*?\}\}|\{%.*?%\}|[^>{]|\{(?![{%#]))*>", re.DOTALL)
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_SAID = re.compile(r'\b(?:aria-label|placeholder|title|alt)="([^"{]*[a-z]{2} ?[^"{]*)"')


def messages(code: str) -> list[Any]:
    """Those of the catalog that are translated."""
    return [message for message in read(code) if message.id and is_complete(message)]


def forms(message: Message) -> list[str]:
    """The translation of *message*, of which there are several if it counts something."""
    said = message.string or ""
    return [said] if isinstance(said, str) else list(said)


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
def test_a_catalog_is_read_as_babel_reads_it(code: str) -> None:
    expected: dict[str | tuple[str, int], str] = {}
    for message in messages(code):
        if isinstance(message.id, str):
            expected[message.id] = message.string
        else:
            expected |= {(message.id[0], form): each for form, each in enumerate(forms(message))}
    assert catalog(code).said == expected
    assert len(expected) > 1000


@pytest.mark.parametrize("code", OTHERS)
def test_scripts_get_the_sentences_that_they_say(code: str) -> None:
    said = json.loads(of_scripts(code))
    assert said["Copied"] == catalog(code).sentence("Copied")
    keys = {key for path in translations.scripts() for key in translations.of_script(path)}
    assert keys - said.keys() == {key for key in keys if catalog(code).sentence(str(key)) is None}
    assert said.keys() <= keys


def test_what_is_not_translated_or_doubted_is_left_out() -> None:
    read_ = read_catalog(
        'msgid ""\nmsgstr "Language: de\\n"\n\n'
        '#: a.py\nmsgid "A \\"b\\"\\n"\n"c"\nmsgstr "Ä "\n"\\\\c"\n\n'
        '#: a.js b.py\nmsgid "of scripts"\nmsgstr "von Skripten"\n\n'
        'msgid "new"\nmsgstr ""\n\n'
        '#, fuzzy, python-format\nmsgid "doubted"\nmsgstr "zweifelhaft"\n\n'
        '#~ msgid "gone"\n#~ msgstr "fort"\n\n'
        'msgid "day"\nmsgid_plural "days"\nmsgstr[0] "Tag"\nmsgstr[1] "Tage"\n\n'
        'msgid "hour"\nmsgid_plural "hours"\nmsgstr[0] "小时"\n'
    )
    assert read_.said == {
        'A "b"\nc': "Ä \\c",
        "of scripts": "von Skripten",
        ("day", 0): "Tag",
        ("day", 1): "Tage",
        ("hour", 0): "小时",
    }
    assert read_.of_scripts == {"of scripts": "von Skripten"}
    assert [read_.counted("day", 1), read_.counted("day", 0)] == ["Tag", "Tage"]
    assert [read_.counted("hour", 1), read_.counted("hour", 7)] == ["小时", "小时"]
    assert read_.counted("year", 1) is None


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


def test_the_tool_keeps_what_was_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "de.po").write_text(
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n\n'
        'msgid "Check"\nmsgstr "Prüfen"\n\nmsgid "Never said"\nmsgstr "Nie gesagt"\n'
    )
    monkeypatch.setattr(translations, "CATALOGS", tmp_path)
    monkeypatch.setattr(translations, "found", lambda: {"Check": {"a.html"}, "New": {"b.html"}})
    catalog = updated("de")
    assert {message.id: message.string for message in catalog if message.id} == {"Check": "Prüfen", "New": ""}


def test_the_tool_lists_what_has_no_translation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "de.po").write_text('msgid "Check"\nmsgstr "Prüfen"\n')
    monkeypatch.setattr(translations, "CATALOGS", tmp_path)
    monkeypatch.setattr(translations, "LANGUAGES", {"en": "English", "de": "Deutsch"})
    said = {"Check": {"a.html"}, "New words": {"b.html", "app/c.py"}}
    monkeypatch.setattr(translations, "found", lambda: said)
    assert translations.main() == 1
    assert capsys.readouterr().out == ("de: 2 sentences, 1 without a translation\n  app/c.py, b.html: New words\n")
    written = (tmp_path / "de.po").read_text()
    (tmp_path / "de.po").write_text(written.replace('"New words"\nmsgstr ""', '"New words"\nmsgstr "Neu"'))
    assert translations.main() == 0


def test_the_sentences_of_a_module_are_found_wherever_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        'translate("one", x=f(g("no"), translate("two" "three")))\n'
        'plural("a day", "{number} days", 3)\nraise ValueError(say("four"))\ntranslate(NAME)\n'
    )
    found = set(translations.of_python(tmp_path / "a.py"))
    assert found == {"one", "twothree", ("a day", "{number} days"), "four"}
