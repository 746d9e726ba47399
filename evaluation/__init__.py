"""The paper's evaluation made again, and the strategies against each other: measured, kept and written as pages."""
