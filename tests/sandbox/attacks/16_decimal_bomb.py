# TRIES: a precision of a billion digits | MUST: ended or MemoryError
def solve(x):
    import decimal

    decimal.getcontext().prec = decimal.MAX_PREC
    return float(decimal.Decimal(1) / 3)
