"""Bounds on shares, from counts alone: nothing here knows of models or inputs.

`intervals` is for a sample whose size was fixed beforehand, `sequence` for one that may stop at any time, `paired` for
the difference of two shares on the same inputs, `two_groups` for rates and means of different rows, `clustered` for
rows with weights or in groups.
"""
