"""Search strategies, one file each. A new strategy can start as a copy of the smallest, `random_walk`."""
