"""Requests, the placements that runtimes make of them, and what follows for each node."""
