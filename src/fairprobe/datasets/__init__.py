"""Data sets that are part of the package."""

from fairprobe.datasets.census import CENSUS_WORDS, census_domain, describe_census, load_census

__all__ = ["CENSUS_WORDS", "census_domain", "describe_census", "load_census"]
