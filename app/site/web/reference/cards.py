"""The words on the pictures of errata and formulas: the same as on their pages."""

from collections.abc import Mapping
from types import MappingProxyType

from app.core.charts.card import PictureCard
from app.core.formulas import Formula
from app.course.content.errata import Erratum
from app.site.web.frame.preview import plain_words
from app.site.web.reference.docstrings import equation_lines


def erratum_card(erratum: Erratum) -> PictureCard:
    """A claim, struck out where it is wrong rather than a matter of convention."""
    return PictureCard(
        kicker=f"Erratum {erratum.id}: your source says",
        key=f"“{erratum.said}”",
        wrong=erratum.severity != "C",
        title=erratum.title,
        says=plain_words(erratum.right),
    )


def formula_card(formula: Formula, given: Mapping[str, str] = MappingProxyType({}), result: str = "") -> PictureCard:
    """A formula with its equations, and its *result* for what is *given*, if there is one."""
    arguments = ", ".join(f"{name.replace('_', ' ')} {text}" for name, text in given.items())
    return PictureCard(
        kicker=f"Formula · {formula.module}",
        key=result,
        title=formula.name.partition(".")[2].replace("_", " ").capitalize(),
        code="\n".join(equation_lines(formula)),
        says=f"With {arguments}." if result and arguments else formula.says,
    )
