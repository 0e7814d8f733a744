"""Linear and logistic regression, from moments or by a perturbed objective."""
