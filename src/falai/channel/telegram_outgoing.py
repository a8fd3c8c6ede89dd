"""A message as a method of Telegram's Bot API, and what is too long for it. Texts go out plain, without markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from falai.channel.port import Attachment, Button, Outgoing
from falai.channel.splitting import Refuse, behind_media, check_length, length, numbered, split_text

__all__ = ["call_of", "pieces_of"]

TEXT: Final = 4096
CAPTION: Final = 1024
_DATA: Final = 64
_METHODS: Final[Mapping[str, tuple[str, str]]] = {
    "image": ("sendPhoto", "photo"),
    "audio": ("sendAudio", "audio"),
    "voice": ("sendVoice", "voice"),
    "video": ("sendVideo", "video"),
    "document": ("sendDocument", "document"),
    "sticker": ("sendSticker", "sticker"),
}


def pieces_of(out: Outgoing, media: Attachment | None) -> Sequence[Outgoing]:
    """The message in as many as Telegram takes."""
    if media is None:
        return numbered(out, split_text(out.text, TEXT))
    fits = _captioned(media) and length(out.text) <= CAPTION
    return (out,) if fits or not out.text.strip() else behind_media(out, split_text(out.text, TEXT))


def call_of(out: Outgoing, media: Attachment | None, refuse: Refuse) -> tuple[str, dict[str, Any]]:
    """The method and its parameters. Raises what `refuse` makes of the reason when Telegram would not take it."""
    method, content = ("sendMessage", {}) if media is None else _media(media, refuse)
    if media is None:
        if not out.text.strip():
            raise refuse("buttons stand under a text: say what is asked")
        check_length(out.text, TEXT, "a text", refuse)
        content["text"] = out.text
    elif out.text.strip():
        if not _captioned(media):
            raise refuse(f"a message of kind {media.kind} has no text: send the text as a message of its own")
        check_length(out.text, CAPTION, "a caption", refuse)
        content["caption"] = out.text
    if out.buttons:
        content["reply_markup"] = {"inline_keyboard": _keyboard(out.buttons, refuse)}
    return method, {"chat_id": out.address, **content}


def _captioned(media: Attachment) -> bool:
    return media.kind in _METHODS and media.kind != "sticker"


def _media(media: Attachment, refuse: Refuse) -> tuple[str, dict[str, Any]]:
    data = media.data
    if media.kind == "location":
        return "sendLocation", {key: data[key] for key in ("latitude", "longitude") if key in data}
    if media.kind not in _METHODS:
        raise refuse(f"an attachment of kind {media.kind} cannot be sent")
    method, name = _METHODS[media.kind]
    file = media.id or media.url
    if file is None:
        raise refuse("a file needs a url, or the id that Telegram gave it")
    return method, {name: file}


def _keyboard(buttons: Sequence[Button], refuse: Refuse) -> list[Any]:
    for button in buttons:
        if not 1 <= len(button.id.encode(errors="replace")) <= _DATA:
            raise refuse(f"the id of a button has 1 to {_DATA} bytes; that of {button.title!r} has not")
    return [[{"text": button.title, "callback_data": button.id}] for button in buttons]
