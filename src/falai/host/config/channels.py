"""The channels of a configuration: `[channels.NAME]` with a `kind`, its options, and its secrets from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import msgspec

from falai.channel.port import Attachment, Channel
from falai.host.config.secret import Secret
from falai.host.config.section import Section

__all__ = ["read_channels"]


@dataclass(frozen=True, kw_only=True)
class _Kind:
    """How a kind of channel is made: its class, and what a file may say of it."""

    made_by: str
    required: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def make(self, **options: Any) -> Channel:
        # Each needs an HTTP client, which is an extra and takes its time to load.
        module, _, name = self.made_by.partition(":")
        channel: Channel = getattr(import_module(module), name)(**options)
        return channel


_FILES: Final = ("image", "audio", "voice", "video", "document", "sticker")
_KINDS: Final = {
    "webhook": _Kind(
        made_by="falai.channel.webhook:WebhookChannel",
        required=("url", "secret"),
        texts=("url",),
        numbers=("tolerance",),
        secrets=("secret",),
    ),
    "whatsapp": _Kind(
        made_by="falai.channel.whatsapp:WhatsAppChannel",
        required=("phone_number_id", "token"),
        texts=("phone_number_id", "menu", "base_url"),
        secrets=("token", "app_secret", "verify_token"),
    ),
    "telegram": _Kind(
        made_by="falai.channel.telegram:TelegramChannel",
        required=("token",),
        texts=("base_url",),
        secrets=("token", "webhook_secret"),
    ),
}


def read_channels(section: Section) -> tuple[dict[str, Channel], tuple[str, ...]]:
    """The channels by their names, and every secret text of theirs. What is wrong is noted."""
    channels: dict[str, Channel] = {}
    secrets: list[str] = []
    for name in section.names:
        options, hidden = section.section(name), list[str]()
        channel = _channel(name, options, hidden)
        secrets += hidden
        if channel is not None:
            channels[name] = channel
    return channels, tuple(secrets)


def _channel(name: str, section: Section, hidden: list[str]) -> Channel | None:
    chosen = section.choice("kind", tuple(_KINDS))
    if chosen is None:
        if "kind" not in section:
            section.problem("kind", f"no kind is written: write one of {', '.join(_KINDS)}")
        return None
    kind = _KINDS[chosen]
    options = _options(section, kind)
    hidden += [value.reveal() for value in options.values() if isinstance(value, Secret)]
    section.done()
    if any(option not in options for option in kind.required):
        return None
    plain = {key: value.reveal() if isinstance(value, Secret) else value for key, value in options.items()}
    try:
        return kind.make(name=name, **plain)
    except (ValueError, ImportError) as error:
        section.problem("", _without(str(error), hidden))
        return None


def _without(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _options(section: Section, kind: _Kind) -> dict[str, Any]:
    readers: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys(kind.texts, section.text),
        **dict.fromkeys(kind.numbers, section.number),
        **dict.fromkeys(kind.secrets, section.secret),
    }
    read: dict[str, Any] = {}
    for name, reader in readers.items():
        if name in kind.required and name not in section:
            section.problem(name, f"it is missing, and a channel of this kind needs it{_how(name, kind)}")
        value = reader(name)
        if value is not None:
            read[name] = value
    return read | {"media": _media(section.section("media"))}


def _media(section: Section) -> dict[str, Attachment]:
    """What the slugs of `say` steps are: each a file, by a URL or by the vendor's id of it."""
    media: dict[str, Attachment] = {}
    for slug in section.names:
        file = section.section(slug)
        kind = file.choice("kind", _FILES)
        given = {name: file.text(name) for name in ("url", "id", "mime", "filename")}
        file.done()
        if "kind" not in file:
            file.problem("kind", f"it is missing: write one of {', '.join(_FILES)}")
        if (given["url"] is None) == (given["id"] is None):
            file.problem("", "write one of url and id")
        elif kind is not None:
            media[slug] = msgspec.convert({"kind": kind, **given}, Attachment)
    return media


def _how(name: str, kind: _Kind) -> str:
    return f': write {name} = {{ env = "A_VARIABLE" }}' if name in kind.secrets else ""
