# TRIES: subprocess of /bin/sh | MUST: refused
import subprocess


def solve(x):
    return subprocess.run(["/bin/sh", "-c", "id; touch /tmp/pwned_sh"], capture_output=True, text=True).stdout
