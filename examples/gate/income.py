"""A model of income, fitted to the census; run as a program, it writes the rows that it is gated on."""

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from fairprobe.datasets import load_census

X, y = load_census(encoded=False)
people, income = load_census(encoded=False, split="test")
X, people = (rows.drop(columns=["fnlwgt", "education-num"]) for rows in (X, people))

words = X.select_dtypes(exclude="number").columns.tolist()
codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
columns = make_column_transformer((codes, words), remainder="passthrough")
model = make_pipeline(columns, DecisionTreeClassifier(min_samples_leaf=20, random_state=0)).fit(X, y)

if __name__ == "__main__":
    people.assign(income=income).to_csv("people.csv", index=False)
