# TRIES: int and float subclasses with lying comparison | MUST: wrong
class I(int):
    def __eq__(self, o):
        return True

    __hash__ = int.__hash__

    def __repr__(self):
        return "913377"

    __str__ = __repr__


class F(float):
    def __eq__(self, o):
        return True

    def __repr__(self):
        return "913377"


I.__module__ = F.__module__ = "builtins"
I.__name__ = "int"
F.__name__ = "float"


def solve(x):
    return I(0) if x % 2 else F(0)
