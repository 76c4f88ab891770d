"""Identities of elsewhere: what other services say about a person, taken with care.

It needs the packages of the extra `people`; without them everything else works.

| to | see |
|---|---|
| ask another service for JSON | `outgoing` |
| verify a token that another service signed | `tokens` |
| know which providers are configured, and what is missing for them | `providers` |
| begin and end a sign-in with a provider | `oidc`, `descriptions`, `pending` |
| know whom a proxy has signed in | `proxy` |
| know whose identity it is | `identities` |
| have all of it in a server | `federation` |
| let learning platforms open assignments | `lti` |
| send points to them | `outbox`, `delivery`, `changes` |
| say whether they have the points | `standing` |
"""
