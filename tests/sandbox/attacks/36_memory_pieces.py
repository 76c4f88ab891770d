# TRIES: memory in many small pieces | MUST: MemoryError or the limit
def solve(x):
    kept = []
    while True:
        kept.append(bytearray(64))
