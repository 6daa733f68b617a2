"""Advice: what to do, and why."""
