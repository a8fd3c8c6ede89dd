"""Channels: the shapes of the ways to customers. They parse, check, render and sign; none runs a server.

`Channel` is the contract (`port`); the others are channels. What goes wrong on the way out is a
`ChannelError` that says whether to repeat; what comes in without a proof is a `BadSignatureError`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from falai.channel.console import ConsoleChannel
    from falai.channel.telegram import TelegramChannel
    from falai.channel.webhook import WebhookChannel
    from falai.channel.whatsapp import WhatsAppChannel

__all__ = [
    "Attachment", "BadPayloadError", "BadSignatureError", "Button", "Channel", "ChannelError", "ConsoleChannel",
    "Incoming", "Outgoing", "Receipt", "Sent", "TelegramChannel", "Template", "WebhookChannel", "WhatsAppChannel",
]  # fmt: skip

# Each is one of several, and most hosts have one: imported when it is asked for.
_HOMES = {
    "ConsoleChannel": "falai.channel.console",
    "TelegramChannel": "falai.channel.telegram",
    "WebhookChannel": "falai.channel.webhook",
    "WhatsAppChannel": "falai.channel.whatsapp",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
