"""The namespace `flow`: what is done with directives as data (D-58). It has these three names and no others."""

from falai.classic.directive import is_directive
from falai.classic.merging import merge
from falai.classic.validating import validate

__all__ = ["is_directive", "merge", "validate"]
