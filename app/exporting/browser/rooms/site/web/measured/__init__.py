"""In place of this room of a server, in a browser."""
