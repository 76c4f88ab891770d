# TRIES: an object that lies about its class | MUST: a type verdict
class Z:
    __class__ = int

    def __index__(self):
        return 424242


def solve(x):
    return Z()
