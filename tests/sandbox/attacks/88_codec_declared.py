# TRIES: a source with another declared encoding | MUST: an error verdict
# -*- coding: utf_7 -*-
def solve(x):
    return "+AGE-"
