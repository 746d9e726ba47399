"""A small world whose cases are known: those older than 40 and not older than 50."""

import numpy as np
import pandas as pd

from fairprobe import Category, Domain, Integer, Link

CASES = pd.DataFrame({"age": [42, 48], "sex": ["Female", "Female"], "town": ["Ash", "Ash"]})


def domain():
    parameters = [Integer("age", 17, 90), Category("sex", ["Female", "Male"]), Category("town", ["Ash", "Oak"])]
    return Domain(parameters, ["sex"])


def linked():
    return domain().with_links([Link("town", "sex", [{"Female": "Ash", "Male": "Oak"}])])


def rows():
    ages = np.arange(20, 60)
    return pd.DataFrame({"age": ages, "sex": ["Female", "Male"] * 20, "town": ["Ash"] * 20 + ["Oak"] * 20})


def flips(frame):
    return np.where((frame["age"] > 50) | ((frame["sex"] == "Male") & (frame["age"] > 40)), "yes", "no")


def blind(frame):
    return np.where(frame["age"] > 50, "yes", "no")


def score(frame):
    return np.asarray(frame["age"] / 100 + 0.3 * (frame["sex"] == "Male"))


def noisy():
    rng = np.random.default_rng(0)
    return lambda frame: rng.random(len(frame)) > 0.5
