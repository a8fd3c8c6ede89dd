"""`falai chat`: a conversation in the terminal, and what it needs of a host.

`running` puts the parts together; `conversation` loads, turns, saves, shows and arms the timers;
`file` is one SQLite file with one transaction per turn.
"""
