"""A message as WhatsApp's Cloud API takes it, and what is too long or too many for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from falai.channel.port import Attachment, Button, Outgoing
from falai.channel.splitting import Refuse, behind_media, check_length, length, numbered, split_text

__all__ = ["content_of", "pieces_of", "recipient_of"]

TEXT: Final = 4096
CAPTION: Final = 1024
_BUTTON_TEXT: Final = 1024
_BUTTONS: Final = 3
_ROWS: Final = 10
_TITLE: Final = 20
_ROW_TITLE: Final = 24
_USER: Final = re.compile(r"[A-Z]{2}(\.ENT)?\.[A-Za-z0-9]{1,128}")
_CAPTIONED: Final = frozenset({"image", "video", "document"})


def pieces_of(out: Outgoing, media: Attachment | None) -> Sequence[Outgoing]:
    """The message in as many as WhatsApp takes."""
    if out.template is not None:
        return (out,)
    if media is None:
        return numbered(out, _texts(out))
    captioned = media.kind in _CAPTIONED and len(out.buttons) <= _BUTTONS and length(out.text) <= CAPTION
    return (out,) if captioned or not out.text.strip() else behind_media(out, _texts(out))


def recipient_of(address: str) -> Mapping[str, str]:
    """A phone number, or WhatsApp's id of a customer, which as `to` would be taken for a number and go nowhere."""
    return {"recipient" if _USER.fullmatch(address) else "to": address}


def content_of(out: Outgoing, media: Attachment | None, menu: str, refuse: Refuse) -> Mapping[str, Any]:
    """`type` and its object. Raises what `refuse` makes of the reason when WhatsApp would not take it."""
    if out.template is not None:
        return {"type": "template", "template": _template(out)}
    if out.buttons:
        return {"type": "interactive", "interactive": _interactive(out, media, menu, refuse)}
    if media is None:
        check_length(out.text, TEXT, "a text", refuse)
        return {"type": "text", "text": {"body": out.text, "preview_url": False}}
    kind, content = _media(media, refuse)
    if out.text.strip():
        if kind not in _CAPTIONED:
            raise refuse(f"a message of kind {kind} has no text: send the text as a message of its own")
        check_length(out.text, CAPTION, "a caption", refuse)
        content["caption"] = out.text
    return {"type": kind, kind: content}


def _texts(out: Outgoing) -> Sequence[str]:
    texts = split_text(out.text, TEXT)
    if not out.buttons or length(texts[-1]) <= _BUTTON_TEXT:
        return texts
    *before, last = texts
    end = split_text(last, _BUTTON_TEXT)[-1]  # buttons stand under a short text: the end, which asks
    return [*before, last.rstrip().removesuffix(end).rstrip(), end]


def _template(out: Outgoing) -> Mapping[str, Any]:
    template = out.template
    assert template is not None
    content: dict[str, Any] = {"name": template.name, "language": {"code": template.language}}
    if template.texts:
        texts = [{"type": "text", "text": text} for text in template.texts]
        content["components"] = [{"type": "body", "parameters": texts}]
    return content


def _media(media: Attachment, refuse: Refuse) -> tuple[str, dict[str, Any]]:
    if media.kind == "location":
        return "location", {
            key: media.data[key] for key in ("latitude", "longitude", "name", "address") if key in media.data
        }
    if media.kind not in {*_CAPTIONED, "audio", "voice", "sticker"}:
        raise refuse(f"an attachment of kind {media.kind} cannot be sent")
    if not (media.id or media.url):
        raise refuse("a file needs a url, or the id that WhatsApp gave it")
    content: dict[str, Any] = {"id": media.id} if media.id else {"link": media.url}
    if media.kind == "document" and media.filename:
        content["filename"] = media.filename
    return ("audio" if media.kind == "voice" else media.kind), content


def _interactive(out: Outgoing, media: Attachment | None, menu: str, refuse: Refuse) -> Mapping[str, Any]:
    check_length(out.text, _BUTTON_TEXT, "a text with buttons", refuse)
    if not out.text.strip():
        raise refuse("buttons stand under a text: say what is asked")
    content: dict[str, Any] = {"body": {"text": out.text}}
    if len(out.buttons) <= _BUTTONS:
        content |= {"type": "button", "action": {"buttons": _buttons(out.buttons, refuse)}}
    else:
        content |= {"type": "list", "action": {"button": menu, "sections": [{"rows": _rows(out.buttons, refuse)}]}}
    if media is not None:
        kind, file = _media(media, refuse)
        if kind not in _CAPTIONED or content["type"] == "list":
            raise refuse("only an image, a video or a document stands above buttons, and at most three of those")
        content["header"] = {"type": kind, kind: file}
    return content


def _buttons(buttons: Sequence[Button], refuse: Refuse) -> list[Any]:
    for button in buttons:
        check_length(button.title, _TITLE, "the title of a button", refuse)
    return [{"type": "reply", "reply": {"id": button.id, "title": button.title}} for button in buttons]


def _rows(buttons: Sequence[Button], refuse: Refuse) -> list[Any]:
    if len(buttons) > _ROWS:
        raise refuse(f"a message has at most {_ROWS} buttons; this one has {len(buttons)}")
    for button in buttons:
        check_length(button.title, _ROW_TITLE, "the title of a row (four buttons and more are a list)", refuse)
    return [{"id": button.id, "title": button.title} for button in buttons]
