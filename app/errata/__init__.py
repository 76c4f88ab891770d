"""Where well-known teaching material is wrong, and what is right, worked out by the formulas."""

from app.errata.reading import Erratum, Worked, errata, of_exercise

__all__ = ["Erratum", "Worked", "errata", "of_exercise"]
