"""Identities of elsewhere: what other services say about a person, taken with care.

It needs the packages of the extra `people`; without them everything else works.

| to | see |
|---|---|
| ask another service for JSON | `outgoing` |
| verify a token that another service signed | `tokens` |
| let learning platforms open assignments | `lti` |
| send points to them | `outbox`, `delivery`, `changes` |
| say whether they have the points | `standing` |
"""
