"""The search over all layouts of a model on a cluster: what fits, what is fastest, and why.

It is not a formula, which returns numbers: a search returns layouts. Every number in it is computed
by the core of the formulas, `app.formulas.step`: over columns where NumPy is installed, and
otherwise each part once for everything that it depends on.
"""

from app.searching.fixing import fixed_fields
from app.searching.search import Found, Ranked, found_in
from app.searching.space import Space

__all__ = ["Found", "Ranked", "Space", "fixed_fields", "found_in"]
