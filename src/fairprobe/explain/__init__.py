"""Why: where the cases are, through what, who is worse off, and the smallest change that ends one."""
