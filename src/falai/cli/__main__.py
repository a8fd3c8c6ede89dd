"""`python -m falai.cli` is `falai`."""

from __future__ import annotations

from falai.cli import main

if __name__ == "__main__":
    main()
