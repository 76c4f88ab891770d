# TRIES: swallow every exception, including the soft time-out | MUST: time-limit verdict within limit + 1 s, worker replaced
def solve(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
