# TRIES: connect to the platform's own port, redis, postgres on loopback | MUST: refused; canary listener sees no connection
import socket


def solve(x):
    r = []
    for p in (8000, 6379, 5432, 80, 48123):
        try:
            s = socket.create_connection(("127.0.0.1", p), 0.3)
            r.append(p)
            s.close()
        except BaseException as e:
            r.append(type(e).__name__)
    return r
