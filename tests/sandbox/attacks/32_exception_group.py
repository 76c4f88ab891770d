# TRIES: nested exception groups | MUST: an error verdict
def solve(x):
    e = ValueError(1)
    for _ in range(2000):
        e = ExceptionGroup("g", [e])
    raise e
