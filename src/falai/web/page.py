"""The channel of sessions that live on a page: nothing is sent, for the page follows the session."""

from __future__ import annotations

from falai.channel.port import Channel, Outgoing, Sent

__all__ = ["PageChannel"]


class PageChannel(Channel):
    """For pages beside other channels: a host that has those sends a message by the channel of its session.

    Messages from a page name it: `{"text": "…", "id": "…", "channel": "page"}`. What is said is taken as sent
    when its pause is over, and `GET …/stream` and the WebSocket tell it then.
    """

    def __init__(self, name: str = "page") -> None:
        self.name = name

    async def send(self, out: Outgoing) -> Sent:  # noqa: ARG002  # whoever follows the session has it
        return Sent()
