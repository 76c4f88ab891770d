# TRIES: threads by the low-level module | MUST: refused
import _thread


def spin():
    while True:
        pass


_thread.start_new_thread(spin, ())


def solve(x):
    return 0
