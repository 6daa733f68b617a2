"""Commands: each reads a source, asks the core, renders, and returns its exit status."""
