"""ops: every built-in operation, each a small class with forward, backward and a "Saves:" line."""
