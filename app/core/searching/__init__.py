"""The search over all layouts of a model on a cluster: what fits, what is fastest, and why.

It is not a formula, which returns numbers: a search returns layouts. Every number in it is computed
by the core of the formulas, `app.core.formulas.step`, over columns of NumPy.
"""

from app.core.searching.search import LayoutCandidate, SearchResult, find_layouts, search_in_time
from app.core.searching.space import Space, fixed_fields

__all__ = ["SearchResult", "LayoutCandidate", "Space", "fixed_fields", "find_layouts", "search_in_time"]
