"""Benchmarks: how long commands take, beside other programs."""
