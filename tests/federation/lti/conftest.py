collect_ignore = ["openedx_server.py"]  # it runs in an environment of its own
