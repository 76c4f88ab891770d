"""A small language for arithmetic with units, parsed and evaluated without running any code.

Authors write answers, mistakes and conditions in it, docstrings their formulas, learners their
derivations: `2 * size * (ranks - 1) / ranks`, `80 GB - 20 GiB`, `memory.state_bytes(parameters)`.
"""

from app.core.expressions.arithmetic import *
from app.core.expressions.evaluation import *
from app.core.expressions.parser import *
from app.core.expressions.template import *

__all__ = [
    "BLANK", "Branch", "ExpressionError", "Names", "Node", "PAD_LIMIT", "PadLine", "Quantity", "blank_slots",
    "evaluate", "fill", "fill_known", "words_after_slots", "holds", "latex", "names_in", "parse_expression", "parts",
    "parse_plain", "read_answer", "read_argument", "same_kind", "drop_terms", "slots", "unrounded", "values_of_terms",
    "worked_pad",
]  # fmt: skip
