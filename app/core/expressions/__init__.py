"""A small language for arithmetic with units, parsed and evaluated without running any code.

Authors write answers, mistakes and conditions in it, docstrings their formulas, learners their
derivations: `2 * size * (ranks - 1) / ranks`, `80 GB - 20 GiB`, `memory.state_bytes(parameters)`.
"""

from app.core.expressions.arithmetic import read_answer, read_argument
from app.core.expressions.branches import Branch, parts
from app.core.expressions.evaluation import Names, evaluate, holds
from app.core.expressions.mathematics import latex
from app.core.expressions.operations import Quantity, same_kind
from app.core.expressions.pad import PAD_LIMIT, PadLine, worked_pad
from app.core.expressions.parser import ExpressionError, parse_expression
from app.core.expressions.plain import parse_plain
from app.core.expressions.template import BLANK, blanked, fill, fill_known, slots, words_after_slots
from app.core.expressions.tree import Node, names_in

__all__ = [
    "BLANK",
    "Branch",
    "ExpressionError",
    "Names",
    "Node",
    "PAD_LIMIT",
    "PadLine",
    "Quantity",
    "blanked",
    "evaluate",
    "fill",
    "fill_known",
    "words_after_slots",
    "holds",
    "latex",
    "names_in",
    "parse_expression",
    "parts",
    "parse_plain",
    "read_answer",
    "read_argument",
    "same_kind",
    "slots",
    "worked_pad",
]
