"""A small language for arithmetic with units, parsed and evaluated without running any code.

Authors write answers, mistakes and conditions in it, docstrings their formulas, learners their
derivations: `2 * size * (ranks - 1) / ranks`, `80 GB - 20 GiB`, `memory.state_bytes(parameters)`.
"""

from app.expressions.arithmetic import read_answer, read_argument
from app.expressions.branches import Branch, parts
from app.expressions.evaluation import Names, evaluate, holds
from app.expressions.mathematics import latex
from app.expressions.operations import Quantity, same_kind
from app.expressions.pad import PAD_LIMIT, PadLine, worked_pad
from app.expressions.parser import ExpressionError, parse_expression
from app.expressions.plain import parse_plain
from app.expressions.template import BLANK, blanked, fill, fill_known, slots, words_after_slots
from app.expressions.tree import Node, names_in

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
