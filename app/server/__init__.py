"""What a server stands on: settings, database, network, and work beside the event loop."""
