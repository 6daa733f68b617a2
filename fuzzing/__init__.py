"""Fuzzing of every reader: `python -m fuzzing READER [SECONDS]`; docs/fuzzing.md says more."""
