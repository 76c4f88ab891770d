# TRIES: NaN, infinities, bool for int, numeric strings, -0.0 | MUST: wrong; reply stays valid JSON (no bare NaN)
def solve(x):
    print(float("nan"))
    return [float("nan"), float("inf"), True, "913377", -0.0, 1e-320][x % 6]
