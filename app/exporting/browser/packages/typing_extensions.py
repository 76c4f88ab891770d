"""In place of typing_extensions, in a browser, whose Python has all of it."""

from typing import Self, TypedDict

__all__ = ["Self", "TypedDict"]
