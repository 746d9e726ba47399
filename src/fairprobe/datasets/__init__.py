"""Data sets that are part of the package: the US census income data of 1994."""

from fairprobe.datasets.census import CENSUS_WORDS, census_domain, describe_census, load_census

__all__ = ["CENSUS_WORDS", "census_domain", "describe_census", "load_census"]
