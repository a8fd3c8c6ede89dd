"""Channels: the shapes of the ways to customers. They parse, check, render and sign; none runs a server.

`Channel` is the contract (`port`); the others are channels. What goes wrong on the way out is a
`ChannelError` that says whether to repeat; what comes in without a proof is a `BadSignatureError`.
"""

from __future__ import annotations

from falai.channel.port import (
    Attachment,
    BadPayloadError,
    BadSignatureError,
    Button,
    Channel,
    ChannelError,
    Incoming,
    Outgoing,
    Receipt,
    Sent,
    Template,
)

__all__ = [
    "Attachment", "BadPayloadError", "BadSignatureError", "Button", "Channel", "ChannelError", "Incoming", "Outgoing",
    "Receipt", "Sent", "Template",
]  # fmt: skip
