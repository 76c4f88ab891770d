"""What is stored, and the durability guarantee.

The database stores attempts (each submitted answer, with its verdict), reveals (each hint and each worked solution
shown, once), predictions, runs of labs, saved measurements, and tokens (keys to the grading API, as digests). A learner
is a random number signed into a cookie; no name, address or device is stored.

**The guarantee.** When `Writer.put` returns, the row is on the disk: it survives a killed process and a loss of power.
What cannot be stored is refused with `UnavailableError`, never dropped. After a short outage of PostgreSQL, rows that
are not stored are sent again. A refused row may still be stored in one case: the connection broke during the commit,
and the outage was a long one. SQLite runs in WAL mode with `synchronous=FULL`, PostgreSQL with `synchronous_commit`.

| to | see |
|---|---|
| open the database | `session.connect`, `session.open_session` |
| create or upgrade its tables, or check that it works | `migrations.migrate`, `migrations.probe` |
| store an attempt or a reveal | `writer.Writer` |
| recognize a check that is repeated | `replays` |
| wait for a database that is away for a moment | `outage` |
| query | `stored_records` (what a learner did), `personal`, `tokens`, `lab_runs`, `measurements` |
| know a learner by a signed cookie | `signing` |
| copy it while it serves | `backup.backup` |
"""
