# TRIES: an import hook that stays | MUST: the next one is fine
import sys


class H:
    def find_spec(self, *a):
        raise SystemExit


sys.meta_path.insert(0, H())


def solve(x):
    return 0
