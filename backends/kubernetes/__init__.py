"""A run in the pods of a Kubernetes cluster."""
