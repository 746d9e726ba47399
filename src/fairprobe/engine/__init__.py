"""Engines run the shards of a job: in this process, in several, or on Dask's workers."""
