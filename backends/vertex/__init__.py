"""A run on Google's Vertex AI."""
