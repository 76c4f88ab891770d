# TRIES: exception whose __str__ never returns | MUST: time-limit verdict within limit + 1 s, worker replaced
class E(Exception):
    def __str__(self):
        while True:
            pass


def solve(x):
    raise E()
