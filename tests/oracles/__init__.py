"""Simulations, step by step, of what formulas compute and no page plays out.

Nothing here may import `app.core.formulas`: two derivations that share code share mistakes.
"""
