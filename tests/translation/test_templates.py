"""Sentences of templates, translated when a template is compiled."""

import pytest
from jinja2 import Environment, TemplateRuntimeError, UndefinedError

from app import translation
from app.templating import environment
from app.translation import SOURCE
from app.translation.catalog import SentenceCatalog

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
    return environment("de")


CASES = [
    ("{% trans %}Check{% endtrans %}", {}, "Check", "Prüfen"),
    ('<a title="{{ _("Check") }}">', {}, '<a title="Check">', '<a title="Prüfen">'),
    ("{% trans %}Two <b>bold</b>\n  words{% endtrans %}", {}, "Two <b>bold</b> words", "Zwei <b>fette</b> Wörter"),
    ("{% trans name=who %}100% of {{ name }}{% endtrans %}", {"who": "<i>"}, "100% of &lt;i&gt;", "&lt;i&gt;: 100%"),
    ('{{ _("Call {name}", name=who) }}', {"who": "<i>"}, "Call &lt;i&gt;", "&lt;i&gt; rufen"),
    ("{% trans n=one %}{{ n }} try{% pluralize %}{{ n }} tries{% endtrans %}", {"one": 1}, "1 try", "1 Versuch"),
    ("{% trans n=one %}{{ n }} try{% pluralize %}{{ n }} tries{% endtrans %}", {"one": 3}, "3 tries", "3 Versuche"),
    ("{% trans n=a|length %}{{ n }} try{% pluralize %}{{ n }} tries{% endtrans %}", {"a": "x"}, "1 try", "1 Versuch"),
    ("{% trans num=one %}{{ num }} step{% pluralize %}{{ num }} steps{% endtrans %}", {"one": 3}, "3 steps", "3 Schritte"),
    ('{{ _("Call {name}", name=_("Check")) }}', {}, "Call Check", "Prüfen rufen"),
    ('{{ _("Che" "ck") }}', {}, "Check", "Prüfen"),
    ("{% trans %}Unknown{% endtrans %}", {}, "Unknown", "Unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "given", "english", "translated"), CASES)
def test_a_sentence_is_said_in_the_language_of_the_environment(
    german: Environment, source: str, given: dict[str, object], english: str, translated: str
) -> None:
    assert environment(SOURCE).from_string(source).render(given) == english
    assert german.from_string(source).render(given) == translated


def test_an_english_template_is_compiled_as_if_nothing_were_marked() -> None:
    made = environment(SOURCE)
    marked = made.compile("<p>{% trans a=b %}x {{ a }} y{% endtrans %}</p>{{ _('z') }}", raw=True)
    plain = made.compile("<p>x {{ b }} y</p>z", raw=True)
    assert "gettext" not in marked
    assert marked.count("yield") <= plain.count("yield") + 3


def test_an_undefined_name_in_a_sentence_is_an_error() -> None:
    template = environment(SOURCE).from_string("{% trans %}Hello {{ nobody }}{% endtrans %}")
    with pytest.raises((UndefinedError, TemplateRuntimeError)):
        template.render()


@pytest.mark.parametrize("source", ["name", '"a" ~ name', '"a" | upper', ""])
def test_only_a_written_text_can_be_translated(source: str) -> None:
    with pytest.raises(TypeError, match="line 2: .* a text that is written there"):
        environment("de").from_string(f"\n{{{{ _({source}) }}}}")


def test_a_block_has_no_context() -> None:
    with pytest.raises(TypeError, match="line 2: .* without a context"):
        environment("de").from_string("\n{% trans 'verb' %}Check{% endtrans %}")
