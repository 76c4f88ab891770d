"""What is kept, and how surely.

Kept are attempts (each answer handed in, with its verdict), reveals (each hint and each worked
solution shown, once) and tokens (keys to the interface for graders, as digests). A learner is a
random number signed into a cookie; no name, address or device is kept.

**The promise.** When `Writer.put` returns, the row is on the disk: it outlives a kill of the
process and a loss of power. What cannot be kept is refused with `UnavailableError`, never dropped.
A row that was refused may still be there in one case: the connection broke while it was being
committed. SQLite runs in WAL mode with `synchronous=FULL`, PostgreSQL with `synchronous_commit`.

| to | see |
|---|---|
| open the database | `session.connect`, `session.open_session` |
| build or bring up to date its tables | `migrations.migrate` |
| keep an attempt or a reveal | `writer.Writer` |
| ask | `queries` (what a learner did), `days`, `personal`, `tokens` |
| know a learner by the cookie | `signing` |
| tell whether it can work now | `health.probe` |
| copy it while it serves | `backup.backup` |
"""
