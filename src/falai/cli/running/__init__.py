"""`falai run`: a host as a program. Inputs come in as JSON lines, what it does is logged, a signal ends it.

`run` puts the parts together; `requests` reads a line, `taking` hands it to the host, `feeds` are where lines
come from (standard input, or a folder of files), `printing` is standard output, `logs` standard error.
"""
