# TRIES: a thread that outlives the call | MUST: refused, or nothing left over
import threading

threading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()


def solve(x):
    return 424242
