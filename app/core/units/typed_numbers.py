"""Numbers that a person typed on a page, in the form of its language, or of another one."""

import re

from app.core.translation import has_decimal_comma, say
from app.core.units.formatter import figures

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SIGNS = str.maketrans({"−": "-", "–": "-", "⁄": "/", "∕": "/", "÷": "/", "\u202f": " "})
_RAISED = re.compile(r"[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_GROUPED = re.compile(r"(?<=\d)[_'’\u00a0\u2009 ](?=\d{3}(?!\d))|(?<=\d)_(?=\d)")
THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_POINTS_FOR_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3})+(?=,\d)|(?:\.\d{3}){2,})(?![\d.])")
_THOUSAND = 1000
_BESIDE = " ~≈=+-"  # a number, in a text that is one
_POINT_OR_GROUP = re.compile(r"(?<![\w.,])[1-9]\d{0,2}\.\d{3}(?![\d.,]|[eE][-+\d])")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
CALL = re.compile(r"[^\W\d]\d*+\s*+\(")  # how the name of a function ends, and what follows it
_RUN = re.compile(r"\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")


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


def check_clear(text: str, *, whole: bool = False) -> None:
    """Ask what 112.000 is, where the page writes 112,000 with another sign than a comma.

    In a field for *whole* numbers, the point in it cannot be a decimal one, on any page.

    Raises:
        ValueError: a number in *text* may be a thousand times as large as it reads in English.
    """
    found = _POINT_OR_GROUP.search(text)
    if found is None or not (has_decimal_comma() or (whole and found[0] == text.strip(_BESIDE))):
        return
    number = float(found[0])
    raise ValueError(
        say(
            "{number!r} may be {large} or {small}: write one of these",
            number=found[0],
            large=figures(_THOUSAND * number),
            small=figures(number),
        )
    )


def in_english(text: str, *, whole: bool = False) -> str:
    """The *text* of a field, its numbers as code has them: on a German page, 1.234,5 is 1234.5.

    Every page reads the result alike, so it can be stored.

    Raises:
        ValueError: a number in it may be one or another.
    """
    check_clear(text, whole=whole)
    ungrouped = without_points(text)
    if CALL.search(text):  # where a comma separates arguments
        return ungrouped
    plain = _DECIMAL_COMMA.sub(".", without_commas(ungrouped))
    return clear_text(plain) if has_decimal_comma() else plain


def list_in_english(text: str, *, whole: bool = False) -> str:
    """The *text* of a field for several numbers, as code has it: in German, 0,5; 1 is 0.5, 1.

    Raises:
        ValueError: a number in it may be one or another, or two.
    """
    if has_decimal_comma() and re.fullmatch(r"\d+,\d+", text.strip()) and not whole:
        first, second = text.strip().split(",")
        raise ValueError(
            say(
                "{text!r} may be one number or two: write {one} or {two}",
                text=text.strip(),
                one=clear_text(f"{first}.{second}"),
                two=f"{first}, {second}",
            )
        )
    listed = text.replace(";", ",") if has_decimal_comma() else text
    return _RUN.sub(lambda run: _run_in_english(run[0], whole=whole), listed)


def _run_in_english(run: str, *, whole: bool) -> str:
    """A *run* of digits, points and commas: a number, or several without a space between them."""
    is_list = "." not in run and run.count(",") > (0 if whole else 1)
    return run if is_list or not has_decimal_comma() and "," in run else in_english(run, whole=whole)


def clear_text(text: str) -> str:
    """*text*, in English, with numbers that every page reads alike: 1.234 GB is 1.2340 GB."""
    return _POINT_OR_GROUP.sub(r"\g<0>0", text)
