"""Renderers: one module an output format; none imports another."""
