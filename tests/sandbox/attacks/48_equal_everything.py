# TRIES: an object equal to everything | MUST: a type verdict
class Y(int):
    def __eq__(self, o):
        return True

    def __hash__(self):
        return 0

    def __float__(self):
        return 424242.0


def solve(x):
    return Y(1)
