# TRIES: a comparison that never ends | MUST: ended in time
class K:
    def __lt__(self, other):
        while True:
            pass


def solve(x):
    return sorted([K(), K()])
