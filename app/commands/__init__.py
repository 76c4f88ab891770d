"""The commands of the command line, one module per command, imported when it is used."""
