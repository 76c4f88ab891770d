"""The digits and signs of a typed number, in one spelling."""

import re

from app.translation import has_decimal_comma

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SIGNS = str.maketrans({"−": "-", "–": "-", "⁄": "/", "∕": "/", "÷": "/", "\u202f": " "})
_RAISED = re.compile(r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_GROUPED = re.compile(r"(?<=\d)[_'’\u00a0\u2009 ](?=\d{3}(?!\d))|(?<=\d)_(?=\d)")
THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_POINTS_FOR_THOUSANDS = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3})+(?=,\d)|(?:\.\d{3}){2,})(?![\d.])"
)


def plain_signs(text: str) -> str:
    """*text* with ASCII signs: superscripts as ^2, every kind of minus as -."""
    typed = _RAISED.sub(lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text)
    return typed.translate(_SIGNS).replace("**", "^")


def join_digits(text: str) -> str:
    """*text* without the spaces, apostrophes and underscores that group digits."""
    return _GROUPED.sub("", text)


def without_points(text: str) -> str:
    """*text* without the points that group digits, as in 1.234.567 and 1.234,5."""
    return _POINTS_FOR_THOUSANDS.sub(lambda m: m[0].replace(".", ""), text)


def without_commas(text: str) -> str:
    """*text* without the commas that group digits; the comma in 0,750 is a decimal one.

    So is the only one of a number where the language of the page has a decimal comma.
    """
    return THOUSANDS.sub(lambda m: m[0] if _is_decimal(m[0]) else m[0].replace(",", ""), text)


def _is_decimal(number: str) -> bool:
    return number.startswith("0") or (has_decimal_comma() and number.count(",") == 1)
