"""Bounds on shares, computed from counts alone, without models or inputs.

`intervals` is for a sample whose size was fixed in advance, `sequence` for a sample that may stop at any time,
`differences` for two models on the same inputs or two groups of rows, and `clustered` for rows with weights or in
groups.
"""
