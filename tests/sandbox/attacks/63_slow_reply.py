# TRIES: one byte of reply, then silence | MUST: time-limit verdict within limit + 1 s, worker replaced
import os, time


def solve(x):
    for fd in (1, 3):
        try:
            os.write(fd, b"\0")
        except OSError:
            pass
    while True:
        time.sleep(0.01)
