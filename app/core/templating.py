"""The Jinja environments: undefined names are errors, and everything is escaped.

Each language has an environment of its own, with Jinja's extension for translations. A sentence is
looked up when a template is compiled, in the language of the environment; what depends on a number, or
is not translated, waits until it is rendered. So what was compiled is good for one language.
"""

import re
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cache
from types import CodeType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes
from markupsafe import Markup

from app.core.errors import capitalize, sentence
from app.core.folders import ROOT
from app.core.translation import SOURCE, Numeral, form_of, form_of_number, translate
from app.core.translation.dates import short_day, short_moment

_VALUE = re.compile(r"%\((\w+)\)s|(%%)")  # of the form of a sentence in a template


def folded(node: nodes.Node, names: Mapping[str, Any]) -> nodes.Node:
    """*node* with the sentences of the current language, and the addresses of files, that *names* return put in."""
    for field, value in node.iter_fields():
        if isinstance(value, nodes.Node):
            setattr(node, field, folded(value, names))
        elif isinstance(value, list):
            setattr(node, field, [new for one in value for new in _pieces(node, one, names)])
    called = _called(node, "_", "asset")
    if called is None or not isinstance(node, nodes.Call) or len(node.args) > 1 or node.kwargs:
        return node
    name, text = called
    return nodes.Const(str(names[name](text)), lineno=node.lineno)


def _pieces(parent: nodes.Node, child: object, names: Mapping[str, Any]) -> Iterator[object]:
    """What stands for *child* of *parent*: of a sentence that is shown, its text, and its values in between."""
    found = folded(child, names) if isinstance(child, nodes.Node) else child
    called = _called(found, "gettext") if isinstance(parent, nodes.Output) else None
    if not isinstance(found, nodes.Call) or called is None:
        yield found
        return
    values = {one.key: one.value for one in found.kwargs}
    text, *rest = _VALUE.split(form_of(called[1]))
    yield nodes.TemplateData(text, lineno=found.lineno)
    for name, percent, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        yield nodes.TemplateData("%", lineno=found.lineno) if percent else values[name]
        yield nodes.TemplateData(text, lineno=found.lineno)


def _called(node: object, *names: str) -> tuple[str, str] | None:
    """The one of *names* that *node* calls, and the text in the template that it is called with, if it is so."""
    if not (isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.args):
        return None
    name, given = node.node.name, node.args[0]
    return (name, str(given.value)) if name in names and isinstance(given, nodes.Const) else None


class TemplateEnvironment(Environment):
    """Jinja's, whose templates have all the same globals, and the sentences of one language."""

    def compile(self, source: str | nodes.Template, *given: Any, **named: Any) -> str | CodeType:  # type: ignore[override]
        """The code of the template *source*."""
        tree = self.parse(source, *given[:2]) if isinstance(source, str) else source
        folded(tree, self.globals)
        made: str | CodeType = super().compile(tree, *given, **named)
        return made

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """The globals of a template. (To compare Jinja's own `ChainMap` costs as much as a macro, at each import.)"""
        return {**self.globals, **(d or {})}


def template_environment(language: str = SOURCE) -> Environment:
    """An environment with the templates in templates/, in *language*."""
    made = TemplateEnvironment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.filters["capitalized"] = capitalize
    made.filters["sentence"] = sentence
    made.filters["short_day"] = short_day
    made.filters["short_moment"] = short_moment
    made.filters["numeral"] = lambda number: Numeral(f"{number:g}")
    made.globals["language"] = language
    # The attribute of what is English on every page, such as the documentation.
    made.globals["english"] = "" if language == SOURCE else Markup(' lang="en"')
    # Blocks become calls with their values by name ("newstyle"); those in an expression are looked up once.
    install: Any = made.install_gettext_callables  # type: ignore[attr-defined]
    install(cache(form_of), form_of_number, newstyle=True)
    made.globals["_"] = translate
    made.globals["unchanging"] = cache(lambda name: Markup(made.get_template(name).render()))
    return made
