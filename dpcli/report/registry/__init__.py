"""A draft for the public register of differential-privacy deployments, as YAML.

What the tool knows is filled in; what only people know is quoted from the declarations of
the spec, or marked. The form is that of the OpenDP Deployments Registry
(opendp/deployments-registry-data, schemas/deployments-schema.yaml, as of 2026).
"""
