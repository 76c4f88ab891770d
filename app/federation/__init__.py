"""Identities of elsewhere: what other services say about a person, taken with care.

It needs the packages of the extra `people`; without them everything else works.

| to | see |
|---|---|
| ask another service for JSON | `outgoing` |
| verify a token that another service signed | `tokens` |
"""
