"""The docstring of a formula as HTML."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from app.core.expressions import ExpressionError, latex, parse_expression
from app.core.expressions.mathematics import symbol
from app.core.formulas import Formula
from app.site.markdown import MathematicsError, mathml

_HEADING = re.compile(r"^(Args|Raises|Source|Convention|Returns|Example):$")
_ARGUMENT = re.compile(r"^(\w+): (.*)$")
_INDENTED = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """The parts of a docstring."""

    summary: str
    body: tuple[Markup, ...]
    equations: tuple[Markup, ...]
    arguments: Mapping[str, str]
    convention: str
    raises: str
    source: str


@dataclass(slots=True)
class _DocstringParts:
    body: list[list[str]] = field(default_factory=list)
    sections: dict[str, list[str]] = field(default_factory=dict)


def documented(formula: Formula) -> Documented:
    """The docstring of *formula*, with its mathematics as MathML."""
    parts = _split(formula.doc)
    blocks = [(_block(block, formula), _is_mathematics(block)) for block in parts.body[1:]]
    return Documented(
        summary=" ".join(parts.body[0]),
        body=tuple(block for block, _ in blocks),
        equations=tuple(block for block, is_mathematics in blocks if is_mathematics),
        arguments=_arguments(parts.sections.get("Args", [])),
        convention=" ".join(parts.sections.get("Convention", [])),
        raises=" ".join(parts.sections.get("Raises", [])).removeprefix("ValueError: ").capitalize(),
        source=" ".join(parts.sections.get("Source", [])),
    )


def equation_lines(formula: Formula) -> tuple[str, ...]:
    """The equations in the docstring of *formula*, as they are written there."""
    blocks = filter(_is_mathematics, _split(formula.doc).body[1:])
    return tuple(line.strip() for block in blocks for line in block)


def _split(doc: str) -> _DocstringParts:
    parts = _DocstringParts(body=[[]])
    section: list[str] | None = None
    for line in doc.splitlines():
        if heading := _HEADING.match(line):
            section = parts.sections.setdefault(heading[1], [])
        elif not line.strip():
            if section is None and parts.body[-1]:
                parts.body.append([])
        elif section is not None and line.startswith(_INDENTED):
            section.append(line.strip())
        else:
            section = None
            parts.body[-1].append(line)
    parts.body = [block for block in parts.body if block]
    return parts


def _is_mathematics(lines: list[str]) -> bool:
    return all(line.startswith(_INDENTED) for line in lines)


def _block(lines: list[str], formula: Formula) -> Markup:
    if not _is_mathematics(lines):
        return Markup("<p>{}</p>").format(" ".join(line.strip() for line in lines))
    return Markup("").join(_equation(line.strip(), formula) for line in lines)


def _equation(line: str, formula: Formula) -> Markup:
    """One line of mathematics as MathML, or as plain text if it cannot be parsed."""
    left, equals, right = line.partition(" = ")
    try:
        written = latex(parse_expression(right, list(formula.inputs)))
        if not equals:
            return _plain(line)
        shown = mathml(f"{symbol(left)} = {written}", display=True)
        return Markup('<div class="math block">{}</div>').format(shown)
    except (ExpressionError, MathematicsError):
        return _plain(line)


def _plain(line: str) -> Markup:
    return Markup("<pre>{}</pre>").format(escape(line))


def _arguments(lines: list[str]) -> Mapping[str, str]:
    described: dict[str, str] = {}
    name = ""
    for line in lines:
        if match := _ARGUMENT.match(line):
            name = match[1]
            described[name] = match[2]
        elif name:
            described[name] += f" {line}"
    return described
