"""In place of the lab runs of a server, in a browser."""

SENT = "sent"
