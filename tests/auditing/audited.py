"""A toy whose shares are known: of 40 rows 10 flip by sex alone, and 12 with the title changed along."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairprobe import Domain, Link, audit

SMALL = {"n_experiments": 2, "n_samples": 500, "search_cases": 200, "max_judged": 3000, "explain_queries": 3000}


def rows():
    n = 40
    return pd.DataFrame(
        {
            "age": np.arange(20, 60),
            "sex": ["Female", "Male"] * 20,
            "title": ["Ms", "Mr"] * 5 + ["Dr", "Dr"] * 15,
            "town": ["Mordor", "Gondor", "=SUM(A1)", "<b>Bree</b>"] * 10,
        },
        index=pd.RangeIndex(1000, 1000 + n),
    )


def model(frame):
    """Men above 40 get it, women above 50."""
    good = (frame["age"] > 50) | ((frame["sex"] == "Male") & (frame["age"] > 40))
    return np.where(good, "yes", "no")


def titled(frame):
    """As before, but who is called Mr gets it at 27 already."""
    good = (model(frame) == "yes") | ((frame["title"] == "Mr") & (frame["age"] > 27))
    return np.where(good, "yes", "no")


def score(frame):
    return frame["age"] / 100 + 0.1 * (frame["sex"] == "Male")


def linked_domain():
    link = Link("title", "sex", [{"Male": "Mr", "Female": "Ms"}])
    return Domain.from_frame(rows(), sensitive=["sex"]).with_links([link])


def small(a_model=model, **arguments):
    if "domain" not in arguments:
        arguments.setdefault("sensitive", ["sex"])
    return audit(a_model, rows(), **{**SMALL, **arguments})
