"""Models with scores, for the tests of strategies that learn from them."""

import numpy as np

from fairprobe import Domain, Integer

WEIGHTS = np.array([3.0, -2.0, 1.0, 0.5, -1.0, 0.2, 4.0])
DOMAIN = Domain([*(Integer(f"x{i}", 0, 30) for i in range(6)), Integer("group", 0, 1)], sensitive=["group"])


class Linear:
    """Labels by the sign of a score: a slab of about 3% of the domain is discriminatory."""

    def score(self, X):
        return X @ WEIGHTS - 60

    def predict(self, X):
        return self.score(X) > 0

    def is_case(self, X):
        X = np.array(X, dtype=float)
        X[:, -1] = 0
        return self.predict(X) != self.predict(X + np.eye(7)[-1])


class Scored(Linear):
    def decision_function(self, X):
        return self.score(X)


class Moved(Linear):
    """Probabilities whose half is not where the labels change: a threshold was moved."""

    def predict_proba(self, X):
        positive = 1 / (1 + np.exp(-(self.score(X) - 25) / 5))
        return np.column_stack([1 - positive, positive])


class Misleading(Linear):
    """Scores that have nothing to do with the labels."""

    def decision_function(self, X):
        return np.sin(X.sum(axis=1) * 37.0)


class Failing(Linear):
    """It has probabilities only by name."""

    def predict_proba(self, X):
        raise NotImplementedError("no probabilities")
