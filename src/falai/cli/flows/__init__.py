"""What authors do with flows: check, compare, draw and draft them.

`sources` reads what a command line names, with the place of each part; one module does the work of
each command.
"""
