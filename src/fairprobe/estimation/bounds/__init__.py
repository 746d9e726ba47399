"""Bounds on shares, from counts alone: nothing here knows of models or inputs.

`intervals` is for a sample whose size was fixed beforehand, `sequence` for one that may stop at any time, `differences`
for two models on the same inputs or two groups of rows, `clustered` for rows with weights or in groups.
"""
