# TRIES: an object whose str is endless | MUST: ended in time
class P:
    def __str__(self):
        while True:
            pass


def solve(x):
    print(P())
