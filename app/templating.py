"""The Jinja environments: undefined names are errors, and everything is escaped.

Each language has an environment of its own, in which the sentences of the templates are translated
when a template is compiled: a page costs the same in every language, and an English one what it
would cost if its sentences were not marked.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes
from jinja2.ext import InternationalizationExtension
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from markupsafe import Markup

from app.config import ROOT
from app.errors import capitalized, sentence
from app.translation import SOURCE, plural, speaking, translate

_FILLED = re.compile(r"%%|%\((\w+)\)s")
_FORMAT = (("dot", "."), ("name", "format"), ("lparen", "("))


class _Sentences(InternationalizationExtension):
    """Sentences, replaced by their translation when the template is compiled."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """The tokens of a template; a text in place of each `_("...")`."""
        for token in stream:
            if token.test("name:_") and stream.current.type == "lparen":
                yield from self._translated_text(token.lineno, stream)
            else:
                yield token

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """What a `{% trans %}` block puts out."""
        found = super().parse(parser)
        parts = found if isinstance(found, list) else [found]
        return [
            self._translated_block(part).set_lineno(part.lineno)
            if isinstance(part, nodes.Output)
            else part
            for part in parts
        ]

    def _translated_text(self, line: int, stream: TokenStream) -> Iterator[Token]:
        next(stream)
        text = ""
        while stream.current.type == "string":
            text += next(stream).value
        if not text or stream.current.type not in ("comma", "rparen"):
            raise TypeError(f"line {line}: _() takes a text that is written there")
        with speaking(self._language):
            yield Token(line, "string", translate(text))
        if next(stream).type == "comma":  # the values of its names follow
            yield from (Token(line, kind, value) for kind, value in _FORMAT)

    def _translated_block(self, block: nodes.Output) -> nodes.Node:
        """What *block*, which calls gettext, would put out."""
        call: Any = block.nodes[0]
        values = {keyword.key: keyword.value for keyword in call.kwargs}
        match call.node.name, call.args:
            case "gettext", [text]:
                with speaking(self._language):
                    return nodes.Output(_parts(translate(text.value), values))
            case "ngettext", [one, many, number]:
                forms = _forms(self._language, one.value, many.value)
                return _chosen(forms, number, {"num": number, **values})
            case _:
                raise TypeError(f"line {block.lineno}: a sentence is translated without a context")

    @property
    def _language(self) -> str:
        return str(self.environment.globals.get("language", SOURCE))


def environment(language: str = SOURCE) -> Environment:
    """An environment with the templates in templates/, in *language*."""
    made: Any = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=[_Sentences],
    )
    made.newstyle_gettext = True  # a block becomes a call with its values by name
    made.policies["ext.i18n.trimmed"] = True
    made.filters["capitalized"] = capitalized
    made.filters["sentence"] = sentence
    # The attribute of what is English on every page, such as the documentation.
    made.globals["language"] = language
    made.globals["english"] = "" if language == SOURCE else Markup(' lang="en"')
    return made  # type: ignore[no-any-return]


def _forms(language: str, one: str, many: str) -> tuple[str, str]:
    """*one* and *many* in *language*; two equal forms where it has one."""
    with speaking(language):
        return plural(one, many, 1), plural(one, many, 2)


def _chosen(
    forms: tuple[str, str], number: nodes.Expr, values: Mapping[str, nodes.Expr]
) -> nodes.Node:
    """The first of *forms* if *number* is one when the template is rendered, else the second."""
    one, many = (nodes.Output(_parts(form, values)) for form in forms)
    if forms[0] == forms[1]:
        return many
    alone = nodes.Compare(number, [nodes.Operand("eq", nodes.Const(1))])
    return nodes.If(alone, [one], [], [many])


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
