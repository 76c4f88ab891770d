"""What a transformer is made of, and how much there is to compute.

A multiply-add is two FLOP. Training costs three forward passes: one forward, and a backward pass of
twice as much.
"""

from app.formulas.transformer.budget import *
from app.formulas.transformer.caches import *
from app.formulas.transformer.flops import *
from app.formulas.transformer.parameters import *
