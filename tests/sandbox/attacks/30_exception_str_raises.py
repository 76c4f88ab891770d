# TRIES: an exception whose str raises | MUST: an error verdict
class E(Exception):
    def __str__(self):
        raise SystemExit


def solve(x):
    raise E
