"""The Jinja environments: undefined names are errors, and everything is escaped.

Each language has an environment of its own, in which the sentences of the templates are translated
when a template is compiled: a page costs the same in every language, and an English one what it
would cost if its sentences were not marked.
"""

import re
from collections.abc import Mapping

from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes
from jinja2.ext import InternationalizationExtension
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from app.config import ROOT
from app.errors import capitalized, sentence
from app.translation import SOURCE, plural, speaking, translate

_FILLED = re.compile(r"%%|%\((\w+)\)s")


class Translated(Environment):
    """An environment whose templates speak the *language*."""

    language: str

    def __init__(self, language: str, loader: FileSystemLoader) -> None:
        self.language = language
        super().__init__(
            loader=loader,
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            extensions=[_Sentences],
        )
        self.policies["ext.i18n.trimmed"] = True

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        translated: nodes.Template = _Words(self.language).visit(tree)
        return translated


class _Sentences(InternationalizationExtension):
    """`{% trans %}` blocks, replaced by their translation when the template is compiled."""

    def _make_node(
        self,
        singular: str,
        plural: str | None,
        context: str | None,
        variables: dict[str, nodes.Expr],
        plural_expr: nodes.Expr | None,
        vars_referenced: bool,
        num_called_num: bool,
    ) -> nodes.Output:
        language = getattr(self.environment, "language", SOURCE)
        if plural is None or plural_expr is None:
            with speaking(language):
                return nodes.Output(_parts(translate(singular), variables))
        one, many = _forms(language, singular, plural)
        if one == many:
            return nodes.Output(_parts(many, variables))
        alone = nodes.Compare(plural_expr, [nodes.Operand("eq", nodes.Const(1))])
        both = [[nodes.Output(_parts(form, variables))] for form in (one, many)]
        chosen: nodes.Node = nodes.If(alone, both[0], [], both[1])
        return chosen  # type: ignore[return-value]  # the parser takes any statement


class _Words(NodeTransformer):
    """Calls of `_("...")` in expressions, replaced by the translation of their text."""

    def __init__(self, language: str) -> None:
        self._language = language

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 (the name of the visitor)
        self.generic_visit(node)
        if not (isinstance(node.node, nodes.Name) and node.node.name == "_"):
            return node
        text = node.args[0]
        if not isinstance(text, nodes.Const):
            raise TypeError(f"line {node.lineno}: _() takes a text that is written there")
        with speaking(self._language):
            found = nodes.Const(translate(text.value), lineno=node.lineno)
        if not node.kwargs:
            return found
        filled = nodes.Getattr(found, "format", "load", lineno=node.lineno)
        return nodes.Call(filled, [], node.kwargs, None, None, lineno=node.lineno)


def environment(language: str = SOURCE) -> Environment:
    """An environment with the templates in templates/, in *language*."""
    made = Translated(language, FileSystemLoader(ROOT / "templates"))
    made.filters["capitalized"] = capitalized
    made.filters["sentence"] = sentence
    # The attribute of what is English on every page, such as the documentation.
    made.globals["language"] = language
    made.globals["english"] = "" if language == SOURCE else Markup(' lang="en"')
    return made


def _forms(language: str, one: str, many: str) -> tuple[str, str]:
    """*one* and *many* in *language*; two equal forms where it has one."""
    with speaking(language):
        return plural(one, many, 1), plural(one, many, 2)


def _parts(text: str, variables: Mapping[str, nodes.Expr]) -> list[nodes.Expr]:
    """What a template puts out for *text*, in which %(name)s stands for a variable."""
    parts: list[nodes.Expr] = []
    end, plain = 0, ""
    for match in _FILLED.finditer(text):
        plain += text[end : match.start()]
        end = match.end()
        if not match[1]:
            plain += "%"
            continue
        value = variables.get(match[1]) or nodes.Name(match[1], "load")
        parts += [nodes.TemplateData(plain), value]
        plain = ""
    return [*parts, nodes.TemplateData(plain + text[end:])]
