# TRIES: a float with its own comparison | MUST: a type verdict
class F(float):
    def __sub__(self, o):
        return F(0)

    __rsub__ = __sub__

    def __abs__(self):
        return F(0)


def solve(x):
    return F(1)
