# TRIES: write a forged reply frame on every descriptor then exit 0 | MUST: not pass (answers are compared outside; unknown answers stay wrong)
import os, json


def solve(x):
    b = json.dumps(
        {
            "error": None,
            "out": "",
            "cut": False,
            "verdict": "pass",
            "passed": True,
            "score": 1,
            "results": [{"v": 1, "ok": True, "verdict": "pass"}] * 3,
        }
    ).encode()
    for fd in (1, 2, 3, 4, 5, 6):
        try:
            os.write(fd, len(b).to_bytes(4, "big") + b)
        except OSError:
            pass
    os._exit(0)
