# TRIES: a repr that never ends | MUST: ended in time
class R(dict):
    def __repr__(self):
        while True:
            pass


def solve(x):
    raise ValueError(R())
