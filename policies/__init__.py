"""A run's policy afterwards: kept, loaded, played and filmed."""
