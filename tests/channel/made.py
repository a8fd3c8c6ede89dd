"""The channels over HTTP, each with the vendor that it talks to, and messages for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hypothesis import settings

from channel.loopback import Vendor, serving
from channel.receiver import Receiver
from channel.telegram_server import TelegramServer
from channel.whatsapp_server import WhatsAppServer
from falai.channel import Attachment, Outgoing, TelegramChannel, WebhookChannel, WhatsAppChannel
from falai.channel.http import HttpChannel
from falai.session.dates import from_ms

__all__ = ["FEW", "KINDS", "Made", "made", "message"]

FEW = settings(max_examples=min(settings.default.max_examples, 200))  # each example is a server and its connections
MEDIA = {"menu": Attachment("document", url="https://example.com/menu.pdf", filename="menu.pdf")}


@dataclass
class Made:
    """A channel, its vendor, an address that the vendor knows, and what must never be told."""

    channel: HttpChannel
    vendor: Any
    address: str
    secrets: tuple[str, ...]


def _whatsapp(vendor: WhatsAppServer, **options: Any) -> Made:
    channel = WhatsAppChannel(
        vendor.number,
        vendor.token,
        app_secret=vendor.app_secret,
        verify_token=vendor.verify_token,
        base_url=vendor.url,
        media=MEDIA,
        **options,
    )
    return Made(channel, vendor, "5511998765432", (vendor.token, vendor.app_secret, vendor.verify_token))


def _telegram(vendor: TelegramServer, **options: Any) -> Made:
    secret = "a-secret-of-the-host"
    channel = TelegramChannel(vendor.token, webhook_secret=secret, base_url=vendor.url, media=MEDIA, **options)
    return Made(channel, vendor, "4711", (vendor.token, secret))


def _webhook(vendor: Receiver, **options: Any) -> Made:
    url = vendor.url.replace("http://", "http://ana:a-pass-word@") + "/in?token=a-token-in-the-address"
    options.setdefault("clock", lambda: from_ms(vendor.now * 1000))
    channel = WebhookChannel(url, vendor.secret, media=MEDIA, **options)
    return Made(channel, vendor, "customer-1", (vendor.secret, "a-pass-word", "a-token-in-the-address"))


KINDS: dict[str, tuple[Callable[[], Vendor], Callable[..., Made]]] = {
    "whatsapp": (WhatsAppServer, _whatsapp),
    "telegram": (TelegramServer, _telegram),
    "webhook": (Receiver, _webhook),
}


@contextmanager
def made(kind: str, **options: Any) -> Iterator[Made]:
    """A channel of this kind and its vendor, for as long as the context lasts."""
    vendor, channel = KINDS[kind]
    with serving(vendor()) as running:
        yield channel(running, **options)


def message(to: Made, text: str = "Hello", **more: Any) -> Outgoing:
    """A message to the vendor's customer."""
    return Outgoing("s1", to.address, text, **{"idempotency_key": "s1:3:0", **more})
