"""The channel of sessions that live on a page: nothing is sent, for the page follows the session."""

from __future__ import annotations

from typing import Any, Final

from falai.channel.port import Channel, Outgoing, Sent
from falai.host import Host

__all__ = ["PAGE", "PageChannel", "is_page"]

PAGE: Final = "page"


class PageChannel(Channel):
    """For pages beside other channels: a host that has those sends a message by the channel of its session.

    Give it to the host under the name `page`. What a token of one session writes, as a customer's browser has it,
    is that channel's; whoever else writes for a page names it: `{"text": "…", "id": "…", "channel": "page"}`.
    What is said is taken as sent when its pause is over, and the stream and the WebSocket of the session tell it.
    """

    name = PAGE

    async def send(self, out: Outgoing) -> Sent:  # noqa: ARG002  # whoever follows the session has it
        return Sent()


def is_page(host: Host[Any]) -> bool:
    """Whether the host has the channel of pages."""
    try:
        return isinstance(host.way(PAGE), PageChannel)
    except KeyError:
        return False
