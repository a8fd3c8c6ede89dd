"""Agents to look at and to talk to. They use what every author can use, and nothing else."""
