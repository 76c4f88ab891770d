# TRIES: a class whose making never ends | MUST: ended in time
class M(type):
    def __new__(m, *a):
        while True:
            pass


class C(metaclass=M):
    pass


def solve(x):
    return 0
