# TRIES: print forever | MUST: time-limit verdict within limit + 1 s, worker replaced; output cut at the cap, host memory flat
def solve(x):
    while True:
        print("spam" * 1000)
