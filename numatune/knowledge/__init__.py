"""Facts with their sources, as data."""
