"""Run numatune as `python -m numatune`."""

from numatune.main import run

if __name__ == "__main__":
    run()
