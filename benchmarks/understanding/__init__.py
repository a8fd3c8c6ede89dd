"""How well a model understands: customers' messages with what is right to read from them.

`messages/` holds the rows, one file a language; `rows` reads and checks them, `play` puts each
through a real turn of its agent, `figures` counts, and `python -m benchmarks.understanding MODEL`
does all of it. README.md says what a row looks like and what the figures mean.
"""
