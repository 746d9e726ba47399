"""Conformance suites and toy models with known shares, for us and for others."""
