"""The loss of a model by its size, its data and its computation.

A *law* is L = E + A / N^a + B / D^b for N parameters and D tokens; training takes 6 N D FLOP.
"""

from app.core.formulas.scaling.laws import *
