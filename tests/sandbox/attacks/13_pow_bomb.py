# TRIES: 9**9**9 (C code that never checks signals) | MUST: time-limit verdict within limit + 1 s, worker replaced
def solve(x):
    return 9**9**9
