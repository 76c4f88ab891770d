"""Plain values as JSON that distinguishes int, float, tuple, set and complex.

An int, string, true, false, null or list stands for itself; everything else is an object with one
key that names its type.
"""

from itertools import islice
from typing import Any

DEEPEST = 20
_SAFE = 2**53  # beyond it, not every JSON parser reads an int exactly
_DIGITS = 3_570  # hexadecimal digits of an int: at most 4,299 decimal ones, which Python can print
_LISTED = 10_000  # elements of a generator
_HASHED = 1_000  # elements of a set or dict; their hashes may be chosen to collide


def encode(value: Any, depth: int = 0) -> object:
    """The JSON tree of *value*.

    Raises:
        TypeError: it does not consist of plain built-in types.
        ValueError: it is nested too deeply, or an int in it has too many digits.
    """
    if depth > DEEPEST:
        raise ValueError("the value is nested too deeply")
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind in (int, float, complex):
        return _number(value)
    if kind is list:
        return [encode(part, depth + 1) for part in value]
    if kind is tuple:
        return {"tuple": [encode(part, depth + 1) for part in value]}
    if kind in (set, frozenset, dict):
        return _unordered(value, kind.__name__, depth)
    return encode(_plain_form(value, kind), depth + 1)


def _plain_form(value: Any, kind: type) -> object:
    """What a value of another type stands for: a number, a text, or a list of its elements.

    Raises:
        TypeError: it stands for none of these.
        ValueError: it has too many elements.
    """
    for plain in (int, float, str, list, tuple, dict):
        if issubclass(kind, plain):
            return plain(value)
    if hasattr(kind, "numerator") and hasattr(kind, "denominator"):  # a Fraction
        top, bottom = int(value.numerator), int(value.denominator)
        return top if bottom == 1 else top / bottom
    if hasattr(kind, "__float__"):  # a Decimal
        return float(value)
    if hasattr(kind, "__iter__"):
        parts = list(islice(value, _LISTED + 1))
        if len(parts) > _LISTED:
            raise ValueError(f"a {kind.__name__} of more than {_LISTED:,} elements cannot be checked here")
        return parts
    raise TypeError(f"a {kind.__name__} cannot be checked here: return numbers, texts, or lists of them")


def _unordered(value: Any, kind: str, depth: int) -> object:
    if len(value) > _HASHED:
        raise ValueError(f"a {kind} of more than {_HASHED:,} elements cannot be checked here")
    if kind != "dict":
        return {"set": [encode(part, depth + 1) for part in value]}
    pairs = value.items()
    return {"dict": [[encode(k, depth + 1), encode(v, depth + 1)] for k, v in pairs]}


def _number(value: complex) -> object:
    if type(value) is int:
        if -_SAFE < value < _SAFE:
            return value
        digits = format(value, "x")
        if len(digits) > _DIGITS:
            raise ValueError("the int is too large: at most about 4,300 digits can be checked")
        return {"int": digits}
    if type(value) is float:
        return {"float": repr(value)}
    return {"complex": [repr(value.real), repr(value.imag)]}


def decode(tree: object, depth: int = 0) -> object:
    """The value of the JSON tree *tree*, which may be hostile.

    Raises:
        ValueError: it is not a tree that `encode` produces.
    """
    if depth > DEEPEST:
        raise ValueError("the value is nested too deeply")
    if tree is None or isinstance(tree, bool | int):
        return tree
    if isinstance(tree, str):
        return tree.encode("utf-8", "replace").decode("utf-8")
    if isinstance(tree, list):
        return [decode(part, depth + 1) for part in tree]
    if isinstance(tree, dict) and len(tree) == 1:
        ((kind, inner),) = tree.items()
        return _tagged(kind, inner, depth + 1)
    raise ValueError("not an encoded value")


def _tagged(kind: str, inner: object, depth: int) -> object:
    if kind in ("int", "float") and isinstance(inner, str) and len(inner) <= _DIGITS + 1:
        return int(inner, 16) if kind == "int" else float(inner)
    if isinstance(inner, list):
        if kind == "complex" and len(inner) == 2 and all(isinstance(p, str) for p in inner):  # noqa: PLR2004
            return complex(float(inner[0]), float(inner[1]))
        if kind == "tuple":
            return tuple(decode(part, depth) for part in inner)
        if kind == "set":
            return _hashed(set, [decode(part, depth) for part in inner])
        if kind == "dict" and all(isinstance(p, list) and len(p) == 2 for p in inner):  # noqa: PLR2004
            return _hashed(dict, [(decode(k, depth), decode(v, depth)) for k, v in inner])
    raise ValueError("not an encoded value")


def _hashed(kind: type, parts: list[object]) -> object:
    if len(parts) > _HASHED:
        raise ValueError("not an encoded value")
    try:
        return kind(parts)
    except TypeError:
        raise ValueError("not an encoded value") from None
