# TRIES: a timer of one's own | MUST: refused
def solve(x):
    import signal

    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    return 0
