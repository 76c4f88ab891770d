"""How near a guess is to the answer, and to those of others, in words."""

from collections.abc import Mapping

from app.core.charts.spread import guess_place
from app.core.translation import plural, translate
from app.server.db.guesses import MOST
from app.server.db.tables import DailyGuess

_SAME, _TWICE = 1.005, 2.0  # times the answer: from here on a guess is off, and off by a factor


def apart(ratio: float) -> str:
    """How far a guess of *ratio* times the answer is from it."""
    far = ratio if ratio > 1 else 1 / ratio
    if far < _SAME:
        return translate("practically exact")
    if far < _TWICE:
        percent = 100 * abs(ratio - 1)
        if ratio > 1:
            return translate("{percent:.2g} % too high", percent=percent)
        return translate("{percent:.2g} % too low", percent=percent)
    if ratio > 1:
        return translate("too high by a factor of {factor:,.3g}", factor=far)
    return translate("too low by a factor of {factor:,.3g}", factor=far)


def among(counts: Mapping[int, int], guess: DailyGuess, right: float) -> str:
    """The guess among those of others."""
    others = sum(counts.values()) - (guess.place is not None)
    if others < 1:
        return translate("Nobody else on this server has guessed yet.")
    mine = abs(guess_place(guess.value, right))
    farther = sum(count for place, count in counts.items() if abs(place) > mine)
    if max(counts.values()) == MOST:
        return translate(
            "There are at least {others:,} other guesses, {farther:,} of them farther off.",
            others=others,
            farther=farther,
        )
    return plural(
        "There is 1 other guess, {farther:,} of them farther off.",
        "There are {number:,} other guesses, {farther:,} of them farther off.",
        others,
        farther=farther,
    )
