"""What a turn costs, as ratios and counts taken in one run: `python -m benchmarks`."""
