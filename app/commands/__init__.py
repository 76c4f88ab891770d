"""What the command line does: a module a command, each imported when it is asked for."""
