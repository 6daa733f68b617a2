"""Readers: one module an input format; each returns a Machine."""
