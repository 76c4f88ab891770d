# TRIES: cloud metadata by urllib | MUST: refused
import urllib.request


def solve(x):
    return urllib.request.urlopen("http://169.254.169.254/latest/meta-data/", timeout=1).read().decode()
