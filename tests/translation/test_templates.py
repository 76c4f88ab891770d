"""Sentences of templates, in the language of the page."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jinja2 import DictLoader, Environment, TemplateRuntimeError, UndefinedError, nodes

from app.core import translation
from app.core.folders import ROOT
from app.core.templating import template_environment
from app.core.translation import SOURCE, speaking
from app.core.translation.catalog import SentenceCatalog
from app.server.cache import CacheFile
from app.site.web.cache_files import CompiledTemplates
from tests.each import each

KNOWN = SentenceCatalog(
    {
        "Check": "Prüfen",
        "100%% of %(name)s": "%(name)s: 100%%",
        "Call {name}": "{name} rufen",
        ("%(num)s step", 0): "%(num)s Schritt",
        ("%(num)s step", 1): "%(num)s Schritte",
        ("%(n)s try", 0): "%(n)s Versuch",
        ("%(n)s try", 1): "%(n)s Versuche",
        "Two <b>bold</b> words": "Zwei <b>fette</b> Wörter",
    },
    {},
)


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Environment:
    monkeypatch.setattr(translation, "catalog", lambda code: KNOWN)
    return template_environment("de")


CASES = [
    ("{% trans %}Check{% endtrans %}", {}, "Check", "Prüfen"),
    ('<a title="{{ _("Check") }}">', {}, '<a title="Check">', '<a title="Prüfen">'),
    ("{% trans %}Two <b>bold</b>\n  words{% endtrans %}", {}, "Two <b>bold</b> words", "Zwei <b>fette</b> Wörter"),
    ("{% trans name=who %}100% of {{ name }}{% endtrans %}", {"who": "<i>"}, "100% of &lt;i&gt;", "&lt;i&gt;: 100%"),
    ('{{ _("Call {name}", name=who) }}', {"who": "<i>"}, "Call &lt;i&gt;", "&lt;i&gt; rufen"),
    ("{% trans n=one %}{{ n }} try{% pluralize %}{{ n }} tries{% endtrans %}", {"one": 1}, "1 try", "1 Versuch"),
    ("{% trans n=one %}{{ n }} try{% pluralize %}{{ n }} tries{% endtrans %}", {"one": 3}, "3 tries", "3 Versuche"),
    ("{% trans n=a|length %}{{ n }} try{% pluralize %}{{ n }} tries{% endtrans %}", {"a": "x"}, "1 try", "1 Versuch"),
    (
        "{% trans num=one %}{{ num }} step{% pluralize %}{{ num }} steps{% endtrans %}",
        {"one": 3},
        "3 steps",
        "3 Schritte",
    ),
    ('{{ _("Call {name}", name=_("Check")) }}', {}, "Call Check", "Prüfen rufen"),
    ('{{ _("Che" "ck") }}', {}, "Check", "Prüfen"),
    ("{% trans %}Unknown{% endtrans %}", {}, "Unknown", "Unknown"),
]


@pytest.mark.parametrize(("source", "given", "english", "translated"), CASES)
def test_a_sentence_is_said_in_the_language_of_the_environment(
    german: Environment, source: str, given: dict[str, object], english: str, translated: str
) -> None:
    assert template_environment(SOURCE).from_string(source).render(given) == english
    with speaking("de"):
        for _ in range(2):  # what has no values is remembered
            assert german.from_string(source).render(given) == translated


def test_an_undefined_name_in_a_sentence_is_an_error() -> None:
    template = template_environment(SOURCE).from_string("{% trans %}Hello {{ nobody }}{% endtrans %}")
    with pytest.raises((UndefinedError, TemplateRuntimeError)):
        template.render()


def misused(template: str) -> list[str]:
    """The calls of *template* that no catalog can have: `_` takes a text, and no block a context."""
    calls = template_environment(SOURCE).parse(template).find_all(nodes.Call)
    named = [(call.node.name, call.args[:1]) for call in calls if isinstance(call.node, nodes.Name)]
    return [
        name
        for name, given in named
        if (name == "_" and not (given and isinstance(given[0], nodes.Const))) or "pgettext" in name
    ]


def test_templates_say_only_what_is_written_there() -> None:
    found = {
        path.name: calls for path in (ROOT / "templates").rglob("*.html") if (calls := misused(path.read_text("utf-8")))
    }
    assert found == {}


@each("source", ["{{ _(name) }}", '{{ _("a" ~ name) }}', "{{ _() }}", "{% trans 'verb' %}Check{% endtrans %}"])
def test_the_walk_finds_what_no_catalog_can_have(source: str) -> None:
    assert len(misused(source)) == 1


def test_no_template_names_a_month_or_a_weekday_in_english() -> None:
    named = re.compile(r"""strftime\(["'][^"']*%-?[aAbBhcxp]""")
    templates = sorted((ROOT / "templates").rglob("*.html"))
    assert len(templates) > 50
    assert [one.name for one in templates if named.search(one.read_text("utf-8"))] == []


def test_a_day_and_a_moment_are_in_the_language() -> None:
    at = datetime(2026, 10, 2, 9, 5, tzinfo=UTC)
    shown = {"en": "2 Oct 2026 02 Oct 09:05 UTC", "de": "2. Okt. 2026 02. Okt. 09:05 UTC"}
    for code, expected in shown.items():
        with speaking(code):
            source = "{{ at|short_day }} {{ at|short_moment }}"
            assert template_environment(code).from_string(source).render(at=at) == expected


def test_templates_are_compiled_once_and_one_that_has_changed_again(tmp_path: Path) -> None:
    compiled = []

    class Counting(Environment):
        def compile(self, source: Any, name: str | None = None, *given: Any, **named: Any) -> Any:
            compiled.append(name)
            return super().compile(source, name, *given, **named)

    def shown(key: str = "now", **texts: str) -> str:
        made = Counting(loader=DictLoader({f"{name}.html": text for name, text in texts.items()}))
        CompiledTemplates(CacheFile(tmp_path, "templates-1"), key).serve({"html": made})
        return made.get_template("a.html").render()

    assert shown(a="one", b="two") == "one"
    assert compiled == ["a.html", "b.html"]
    assert shown(a="one", b="two") == "one"
    assert compiled == ["a.html", "b.html"], "not again"
    assert shown(a="three", b="two") == "three", "whatever the key says"
    assert compiled == ["a.html", "b.html", "a.html"]
    assert shown("then", a="one", b="two") == "one"
    assert len(compiled) == 5
