# TRIES: lone surrogates in the result and in what is printed | MUST: replaced
def solve(x):
    print("\ud800")
    return "\udfff"
