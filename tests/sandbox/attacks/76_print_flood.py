# TRIES: many MB printed by every call | MUST: cut
def solve(x):
    for _ in range(1000):
        print("x" * 100000)
    return 0
