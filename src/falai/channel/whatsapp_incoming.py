"""What WhatsApp's webhook says, as messages and receipts.

A customer who hides the phone number has only an id of WhatsApp's (`user_id`); the number is the
address as long as it is told, since hosts begin conversations by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Literal

from falai.channel.port import Attachment, Incoming, Receipt
from falai.channel.reading import at_of, list_at, object_at, text_at

__all__ = ["incoming_of", "receipts_of"]

_FILES: Final[Mapping[str, Literal["image", "audio", "video", "document", "sticker"]]] = {
    "image": "image", "audio": "audio", "video": "video", "document": "document", "sticker": "sticker",
}  # fmt: skip
_STATUSES: Final[Mapping[str, Literal["sent", "delivered", "read", "failed"]]] = {
    "sent": "sent", "delivered": "delivered", "read": "read", "played": "read", "failed": "failed",
}  # fmt: skip
_NO_MESSAGES: Final = frozenset({"system", "request_welcome"})
"""WhatsApp's own: a number that changed, a chat that was opened. The customer has said nothing."""

Clock = Callable[[], datetime]


def incoming_of(value: Any, clock: Clock) -> Iterator[Incoming]:
    """The messages of one change; one that names no sender and no id is left out: nobody could answer it."""
    names = dict(_names(value))
    for message in list_at(value, "messages"):
        key, number, user = (text_at(message, name) for name in ("id", "from", "from_user_id"))
        address = number or user
        if key and address and text_at(message, "type") not in _NO_MESSAGES:
            yield Incoming(
                address,
                key,
                at=at_of(object_at(message).get("timestamp"), clock),
                name=names.get(number or "") or names.get(user or ""),
                user=user,
                reply_to=text_at(message, "context", "id"),
                **_said(message),
            )


def receipts_of(value: Any, clock: Clock) -> Iterator[Receipt]:
    """The receipts of one change; other states of a message are left out."""
    for status in list_at(value, "statuses"):
        key, state = text_at(status, "id"), _STATUSES.get(text_at(status, "status") or "")
        if key and state:
            yield Receipt(
                key,
                state,
                at_of(object_at(status).get("timestamp"), clock),
                error=_error(status),
                idempotency_key=text_at(status, "biz_opaque_callback_data"),
            )


def _names(value: Any) -> Iterator[tuple[str, str]]:
    for contact in list_at(value, "contacts"):
        name = text_at(contact, "profile", "name")
        for key in ("wa_id", "user_id"):
            address = text_at(contact, key)
            if name and address:
                yield address, name


def _said(message: Any) -> dict[str, Any]:
    kind = text_at(message, "type") or ""
    match kind:
        case "text":
            return {"text": text_at(message, "text", "body") or ""}
        case "button":
            return _pressed(message, "button", title="text", choice="payload")
        case "interactive":
            return _interactive(message)
        case _:
            return _attached(message, kind)


def _interactive(message: Any) -> dict[str, Any]:
    for kind in ("button_reply", "list_reply"):
        if object_at(message, "interactive", kind):
            return _pressed(message, "interactive", kind, title="title", choice="id")
    return _other(message, "interactive", text_at(message, "interactive", "type") or "interactive")


def _pressed(message: Any, *path: str, title: str, choice: str) -> dict[str, Any]:
    text, chosen = text_at(message, *path, title), text_at(message, *path, choice)
    return {"text": text or chosen or "", "choice": chosen, "kind": "button"}


def _attached(message: Any, kind: str) -> dict[str, Any]:
    if kind in _FILES:
        return _file(message, kind)
    if kind == "location":
        place = object_at(message, "location")
        data = {key: place[key] for key in ("latitude", "longitude", "name", "address") if key in place}
        return _attachments(Attachment("location", data=data))
    if kind == "contacts":
        return _attachments(*map(_contact, list_at(message, "contacts")))
    if kind == "reaction":
        about, emoji = text_at(message, "reaction", "message_id"), text_at(message, "reaction", "emoji")
        return _attachments(Attachment("reaction", data={"emoji": emoji or "", "message": about}))
    return _other(message, kind, kind)


def _file(message: Any, kind: str) -> dict[str, Any]:
    found = object_at(message, kind)
    caption = text_at(found, "caption")
    voice = found.get("voice") is True
    file = Attachment(
        "voice" if voice else _FILES[kind],
        id=text_at(found, "id"),
        mime=text_at(found, "mime_type"),
        caption=caption,
        filename=text_at(found, "filename"),
    )
    return _attachments(file, text=caption or "")


def _contact(contact: Any) -> Attachment:
    phones = [phone for each in list_at(contact, "phones") if (phone := text_at(each, "phone"))]
    return Attachment("contact", data={"name": text_at(contact, "name", "formatted_name") or "", "phones": phones})


def _other(message: Any, kind: str, named: str) -> dict[str, Any]:
    return _attachments(Attachment("other", data={"type": named, "content": dict(object_at(message, kind))}))


def _attachments(*attachments: Attachment, text: str = "") -> dict[str, Any]:
    return {"text": text, "kind": "attachment", "attachments": attachments}


def _error(status: Any) -> str | None:
    for error in list_at(status, "errors"):
        code = object_at(error).get("code")
        words = text_at(error, "error_data", "details") or text_at(error, "message") or text_at(error, "title")
        return f"{code}: {words}" if words else str(code)
    return None
