# TRIES: hang after the answer by atexit / __del__ / threading hooks | MUST: no hang: the run ends when the reply is complete or the limit hits
import atexit


class D:
    def __del__(self):
        while True:
            pass


d = D()
atexit.register(lambda: [None for _ in iter(int, 1)])


def solve(x):
    return x
