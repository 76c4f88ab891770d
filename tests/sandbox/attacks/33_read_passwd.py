# TRIES: read /etc/passwd | MUST: refused; no line of it in the reply
def solve(x):
    return open("/etc/passwd").read()
