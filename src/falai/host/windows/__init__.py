"""When messages may be sent: business hours, holidays, the channel's own window, opt-outs. Pure functions.

`decide` says before a turn what may become of its input; `SendingWindow` is hours with a time zone,
nights and holidays; `is_opt_out` knows the words that end follow-ups.
"""

from __future__ import annotations

from falai.host.windows.deciding import (
    Closed,
    Decision,
    Go,
    Hours,
    InputKind,
    Later,
    TemplateOnly,
    Windows,
    decide,
)
from falai.host.windows.hours import SendingWindow
from falai.host.windows.optouts import check_opt_outs, is_opt_out

__all__ = [
    "Closed", "Decision", "Go", "Hours", "InputKind", "Later", "SendingWindow", "TemplateOnly", "Windows",
    "check_opt_outs", "decide", "is_opt_out",
]  # fmt: skip
