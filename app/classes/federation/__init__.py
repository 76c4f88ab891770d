"""Identities of elsewhere: what other services say about a person, taken with care.

It needs the packages of the extra `people`; without them everything else works.
"""
