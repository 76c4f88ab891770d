"""Formulas that a learner wrote, as MathML: the LaTeX of `app.core.expressions.template`, no more."""

import re
from collections.abc import Callable, Mapping
from unicodedata import lookup

_TOKEN = re.compile(r"\\text\{(?:\\.|[^{}\\])*\}|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\S")
_ESCAPED = re.compile(r"\\(.)")
_SIGNS = {
    "-": "\N{MINUS SIGN}", "<": "&lt;", ">": "&gt;", "\\le": "≤", "\\ge": "≥", "\\ne": "≠",
    "\\cdot": "⋅", "\\lceil": "⌈", "\\rceil": "⌉", "\\lfloor": "⌊", "\\rfloor": "⌋",
}  # fmt: skip
_PLAIN = set("+=(),|")
_NAMED = {"\\log", "\\ln", "\\min", "\\max", "\\exp"}
_SPELLED = {"lambda": "LAMDA"}


class UnknownError(ValueError):
    """The LaTeX has something else."""


def written(latex: str) -> str:
    """*latex* as MathML.

    Raises:
        UnknownError: it is not what `app.core.expressions.template` writes.
    """
    reader = _Reader(_TOKEN.findall(latex))
    inside = reader.row("")
    if reader.tokens:
        raise UnknownError(latex)
    return f"<math>{inside}</math>"


class _Reader:
    """Reads tokens from the left."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def row(self, end: str) -> str:
        """Everything up to *end*, which is read as well."""
        parts: list[str] = []
        while self.tokens and self.tokens[0] != end:
            parts.append(self._with_scripts())
        if end:
            self._next()
        return "".join(parts)

    def _next(self) -> str:
        if not self.tokens:
            raise UnknownError("the end is missing")
        return self.tokens.pop(0)

    def _with_scripts(self) -> str:
        named = self.tokens[0] in _NAMED
        found = self._atom()
        for sign, element in (("_", "msub"), ("^", "msup")):
            if self.tokens[:1] == [sign]:
                self._next()
                found = f"<{element}>{found}{self._atom()}</{element}>"
        return f"{found}<mo>&ApplyFunction;</mo>" if named else found

    def _atom(self) -> str:
        token = self._next()
        if token in _COMMANDS:
            return _COMMANDS[token](self)
        if token[0] == "\\":
            return _command(token)
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token in _SIGNS or token in _PLAIN:
            return f"<mo>{_SIGNS.get(token, token)}</mo>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        raise UnknownError(token)

    def fraction(self) -> str:
        """A fraction of the two groups that follow."""
        return f"<mfrac>{self._atom()}{self._atom()}</mfrac>"

    def root(self) -> str:
        """The root of the group that follows."""
        return f"<msqrt>{self._atom()}</msqrt>"

    def group(self) -> str:
        """What is in braces."""
        return f"<mrow>{self.row('}')}</mrow>"

    def between(self) -> str:
        """What is between two fences."""
        first = self._atom()
        inside = self.row("\\right")
        return f"<mrow>{first}{inside}{self._atom()}</mrow>"


_COMMANDS: Mapping[str, Callable[[_Reader], str]] = {
    "{": _Reader.group,
    "\\frac": _Reader.fraction,
    "\\sqrt": _Reader.root,
    "\\left": _Reader.between,
}


def _command(token: str) -> str:
    """A command without an argument, or upright words."""
    if token == "\\,":
        return '<mspace width="0.16666667em"/>'
    if token in _SIGNS:
        return f"<mo>{_SIGNS[token]}</mo>"
    if token in _NAMED:
        return f"<mi>{token[1:]}</mi>"
    if token.startswith("\\text{"):
        words = _ESCAPED.sub(r"\1", token.removeprefix("\\text{").removesuffix("}"))
        return f"<mtext>{words.replace('&', '&amp;').replace('<', '&lt;')}</mtext>"
    try:
        name = _SPELLED.get(token[1:], token[1:].upper())
        return f"<mi>{lookup(f'GREEK SMALL LETTER {name}')}</mi>"
    except KeyError:
        raise UnknownError(token) from None
