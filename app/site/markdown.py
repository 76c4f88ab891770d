"""Markdown with $LaTeX$ and code, as HTML that needs no scripts and no inline styles."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from math_core import LatexError, LatexToMathML
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

_CACHED = 4096  # texts
MATHEMATICS = LatexToMathML(fancy_error=False)
_MAY_LEAD = re.compile(r"\]\(|\]\[|\]:|<\w+:")
# Chinese has no spaces between words, so a line may end anywhere in a file; a block may begin so.
_HAN = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_BLOCK = r"[-+>|#:\s]|\*\s|\d+[.)]\s|\$\$|```"
_GAP = re.compile(
    rf"(?<=[{_HAN}])(?: +|\n *)(?=[{_HAN}])"
    rf"|(?<=[，。；：！？、）])(?: +(?=[^\s|])|\n *(?!{_BLOCK}))|(?<=[^\s|])\n *(?=（)"
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_LINK = re.compile(r"\[([^\[\]]*+)\]\([^)]*+\)")
_MARKS = re.compile(r"`|\*+(?=\S)|(?<=\S)\*+")
_STYLED_CELL = re.compile(r' style="text-align:(left|right|center)"')


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a document, and its id."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class MarkdownDocument:
    """A Markdown file: its title, its first paragraph, and the rest, with its sections."""

    title: str
    summary: Markup
    body: Markup
    sections: tuple[Section, ...]


class MathematicsError(ValueError):
    """The LaTeX between dollar signs cannot be converted."""


def mathml(latex: str, *, display: bool = False) -> Markup:
    """*latex* as MathML.

    Raises:
        MathematicsError: it cannot be converted.
    """
    try:
        return Markup(MATHEMATICS.convert_with_local_state(latex, displaystyle=display))
    except LatexError as error:
        raise MathematicsError(f"${latex}$ is not valid LaTeX: {error}") from None


def python_html(source: str) -> Markup:
    """Python *source* as HTML, highlighted with classes that begin with h-."""
    return Markup(_highlighter()(source))


@cache
def _highlighter() -> Callable[[str], str]:
    from pygments import highlight  # here: its lexer takes 30 ms, and the first page has no code
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    lexer, formatter = PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True, classprefix="h-")
    return lambda source: str(highlight(source, lexer, formatter))


@lru_cache(maxsize=_CACHED)
def html(text: str) -> Markup:
    """*text* as HTML blocks; LaTeX that cannot be converted stays as it is written."""
    made = _STYLED_CELL.sub(r' class="\1"', _MARKDOWN.render(_closed_up(text)))
    return Markup(made.replace("<th></th>", "<td></td>"))  # a corner heads nothing


@lru_cache(maxsize=_CACHED)
def inline_html(text: str) -> Markup:
    """*text* as inline HTML; LaTeX that cannot be converted stays as it is written."""
    return Markup(_MARKDOWN.renderInline(_closed_up(text)))


@lru_cache(maxsize=_CACHED)
def check_mathematics(text: str) -> None:
    """Refuse a Markdown *text* whose LaTeX cannot be converted.

    Raises:
        MathematicsError: it has some.
    """
    for block in _MARKDOWN.parse(text) if "$" in text else ():
        for token in (block, *(block.children or ())):
            if token.type.startswith("math_"):
                mathml(token.content.strip(), display=token.type != "math_inline")


def portable_html(text: str) -> str:
    """*text* as HTML for other sites: mathematics stays LaTeX, which MathJax there shows."""
    return str(_PORTABLE.render(_closed_up(text)))


def document(text: str, linked: Callable[[str], str]) -> MarkdownDocument:
    """The Markdown file *text*, which begins with a title and a paragraph.

    Each address in it is replaced with what *linked* makes of it.
    """
    tokens = _DOCUMENTS.parse(text)
    for block in tokens:
        for token in block.children or ():
            if token.type == "link_open":
                token.attrs["href"] = linked(str(token.attrs["href"]))
    sections = tuple(
        Section(str(token.attrs["id"]), tokens[place + 1].content.replace("`", ""))
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    )
    title, summary, rest = tokens[:_TITLE], tokens[_TITLE:_OPENING], tokens[_OPENING:]
    return MarkdownDocument(
        title[1].content,
        Markup(_DOCUMENTS.renderer.render(summary[1:2], _DOCUMENTS.options, {})),
        Markup(_DOCUMENTS.renderer.render(rest, _DOCUMENTS.options, {})),
        sections,
    )


def addresses(text: str) -> Iterator[tuple[str, str]]:
    """The target of each link and image in *text*, as ("link" or "image", address)."""
    if not _MAY_LEAD.search(text):
        return
    for block in _MARKDOWN.parse(text):
        for token in block.children or ():
            if token.type == "link_open":
                yield "link", str(token.attrs["href"])
            elif token.type == "image":
                yield "image", str(token.attrs["src"])


_TITLE, _OPENING = 3, 6  # tokens: those of a heading, and of the paragraph after it


def _fence(code: str, language: str, _: str) -> str:
    return str(python_html(code) if language in ("", "python") else escape(code))


def _mathematics(latex: str, options: dict[str, bool]) -> str:
    try:
        return str(mathml(latex.strip(), display=options["display_mode"]))
    except MathematicsError:  # of an author, whom lint tells; the page is shown nevertheless
        return f"<code>{escape(latex)}</code>"


def _delimited(latex: str, options: dict[str, bool]) -> str:
    begin, end = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
    return f"{begin}{escape(latex.strip())}{end}"


def _closed_up(text: str) -> str:
    """*text* without the ends of lines within Chinese, where a browser would show a space."""
    return _GAP.sub("", text)


def _parser(
    fence: Callable[[str, str, str], str] | None = _fence,
    mathematics: Callable[[str, dict[str, bool]], str] = _mathematics,
) -> MarkdownIt:
    return (
        MarkdownIt("commonmark", {"html": False, "highlight": fence, "typographer": False})
        .enable("table")
        .use(
            dollarmath_plugin,
            renderer=mathematics,
            allow_space=False,
            allow_digits=False,  # so that $2 and $3 are sums of money
            double_inline=True,
        )
    )


_MARKDOWN = _parser()
_PORTABLE = _parser(None, _delimited)
_DOCUMENTS = _parser().use(anchors_plugin, max_level=3)


@lru_cache(maxsize=_CACHED)
def plain_words(text: str) -> str:
    """The first paragraph of a Markdown *text* as plain words, without sentences of mathematics.

    >>> plain_words("Each rank sends **twice**. It is $x$. See [why](/why).")
    'Each rank sends twice. See why.'
    """
    first = text.strip().partition("\n\n")[0]
    if first.startswith(("```", "|", "#")):
        return ""
    sentences = (one for one in _SENTENCE.split(first) if "$" not in one)
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", " ".join(sentences))).split())


def first_sentence(text: str) -> str:
    """The first sentence of a Markdown *text* as plain words."""
    return _SENTENCE.split(plain_words(text))[0]
