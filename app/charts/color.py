"""The colors of figures."""

from enum import StrEnum


class Color(StrEnum):
    """A color of a figure; its value is the letter in the CSS classes, such as k-f or s-b.

    The letters are those of what the colors stand for in a timeline: a forward pass, a backward
    pass, a weight gradient, communication; then ink, for what is only there to compare with, and
    empty. A style sheet gives curves of one color their own dashes as well.
    """

    BLUE = "f"
    ORANGE = "b"
    PURPLE = "w"
    GREEN = "c"
    GRAY = "i"
    PALE = "e"
