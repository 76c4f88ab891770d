"""Parameters and computation of a transformer.

A multiply-add is two FLOP. Training costs as much as three forward passes: one forward pass, and a
backward pass of twice its cost.
"""

from app.core.formulas.transformer.flops import *
from app.core.formulas.transformer.parameters import *
