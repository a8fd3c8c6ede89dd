"""The routes, one file a subject: what comes in is checked here, and the host does the rest."""
