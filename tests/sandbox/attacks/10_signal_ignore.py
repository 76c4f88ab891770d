# TRIES: ignore every signal | MUST: refused
def solve(x):
    import signal

    for n in range(1, 65):
        try:
            signal.signal(n, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass
