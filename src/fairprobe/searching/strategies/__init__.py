"""Where to look next: one file a strategy. The smallest, `random_walk`, is the one to copy."""
