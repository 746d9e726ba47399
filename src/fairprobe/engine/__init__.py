"""Engines run the shards (independent parts) of a run: in this process, in several, or on Dask's workers."""
