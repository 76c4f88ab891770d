# TRIES: scan own raw memory for answers and other learners' code (ctypes) | MUST: nothing of others in the process: fresh memory per run
def solve(x):
    import ctypes

    hits = 0
    base = id(object())
    b = ctypes.string_at(base - (base % (1 << 18)), 1 << 17)
    for w in (b"other_learner_secret", b"CANARY"):
        hits += b.count(w)
    return hits
