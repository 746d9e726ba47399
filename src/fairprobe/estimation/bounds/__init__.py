"""Bounds on shares, computed from counts alone, without models or inputs.

- `intervals`: a sample whose size was fixed in advance.
- `sequence`: a sample that may stop at any time.
- `differences`: two models on the same inputs, or two groups of rows.
- `clustered`: rows with weights, or several rows of one person.
"""
