# TRIES: a pickle that runs a command | MUST: refused
def solve(x):
    import pickle

    return pickle.loads(b"cos\nsystem\n(S'touch pwned-pickle'\ntR.")
