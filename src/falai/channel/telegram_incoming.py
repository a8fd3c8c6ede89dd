"""What Telegram's updates say, as messages. Telegram tells nothing of what became of a message.

Ids of messages count from 1 in each chat, so the chat stands before them. An edited message is left
out: the turn that it would change has been taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from falai.channel.port import Attachment, Incoming
from falai.channel.reading import at_of, list_at, number_at, object_at, text_at
from falai.session.jsontext import is_list

__all__ = ["UPDATES", "incoming_of"]

UPDATES: Final = ("message", "callback_query", "message_reaction")
"""The updates that are understood, for `setWebhook`."""

# An animation is a document as well, and a venue a location: they come first.
_FILES: Final[Mapping[str, Literal["video", "voice", "audio", "document", "sticker"]]] = {
    "animation": "video", "video": "video", "video_note": "video", "voice": "voice", "audio": "audio",
    "sticker": "sticker", "document": "document",
}  # fmt: skip
_OTHERS: Final = ("poll", "dice", "story", "game", "checklist", "paid_media", "gift", "invoice")

Clock = Callable[[], datetime]


def incoming_of(update: Any, clock: Clock) -> Sequence[Incoming]:
    """The message of an update, if it is one that a person wrote, tapped or set."""
    for read in (_message, _callback, _reaction):
        found = read(update, clock)
        if found is not None:
            return (found,)
    return ()


def _message(update: Any, clock: Clock) -> Incoming | None:
    message = object_at(update, "message")
    chat, number = number_at(message, "chat", "id"), number_at(message, "message_id")
    said = _said(message)
    if chat is None or number is None or said is None or object_at(message, "from").get("is_bot") is True:
        return None
    return Incoming(
        str(chat),
        f"{chat}:{number}",
        at=at_of(message.get("date"), clock),
        name=_name(message.get("from")),
        user=_id(message, "from"),
        reply_to=_reply_to(chat, message),
        **said,
    )


def _callback(update: Any, clock: Clock) -> Incoming | None:
    query = object_at(update, "callback_query")
    key, chat, choice = text_at(query, "id"), number_at(query, "message", "chat", "id"), text_at(query, "data")
    if key is None or chat is None or choice is None:
        return None
    about = number_at(query, "message", "message_id")
    return Incoming(
        str(chat),
        f"callback:{key}",
        _title(query, choice) or choice,
        clock(),  # Telegram does not say when
        "button",
        name=_name(query.get("from")),
        user=_id(query, "from"),
        choice=choice,
        reply_to=None if about is None else f"{chat}:{about}",
    )


def _reaction(update: Any, clock: Clock) -> Incoming | None:
    reaction = object_at(update, "message_reaction")
    chat, number, key = (
        number_at(reaction, "chat", "id"),
        number_at(reaction, "message_id"),
        number_at(update, "update_id"),
    )
    if chat is None or number is None or key is None:
        return None
    emoji = next((text_at(each, "emoji") for each in list_at(reaction, "new_reaction")), None)
    return Incoming(
        str(chat),
        f"update:{key}",
        "",
        at_of(reaction.get("date"), clock),
        "attachment",
        (Attachment("reaction", data={"emoji": emoji or "", "message": f"{chat}:{number}"}),),
        name=_name(reaction.get("user")),
        user=_id(reaction, "user"),
    )


def _said(message: Mapping[str, Any]) -> dict[str, Any] | None:
    text = text_at(message, "text")
    if text is not None:
        return {"text": text}
    attachment = _attachment(message)
    if attachment is None:
        return None  # Telegram's own: somebody joined, a title changed
    return {"text": attachment.caption or "", "kind": "attachment", "attachments": (attachment,)}


def _attachment(message: Mapping[str, Any]) -> Attachment | None:
    caption = text_at(message, "caption")
    photos = list_at(message, "photo")
    if photos:  # the same in several sizes, the largest last
        return Attachment("image", id=text_at(photos[-1], "file_id"), mime="image/jpeg", caption=caption)
    for name, kind in _FILES.items():
        file = object_at(message, name)
        if file:
            mime, filename = text_at(file, "mime_type"), text_at(file, "file_name")
            return Attachment(kind, id=text_at(file, "file_id"), mime=mime, caption=caption, filename=filename)
    return _no_file(message)


def _no_file(message: Mapping[str, Any]) -> Attachment | None:
    place = object_at(message, "location") or object_at(message, "venue", "location")
    if place:
        venue = object_at(message, "venue")
        known = {"latitude": place.get("latitude"), "longitude": place.get("longitude")}
        known |= {"name": venue.get("title"), "address": venue.get("address")}
        return Attachment("location", data={key: value for key, value in known.items() if value is not None})
    contact = object_at(message, "contact")
    if contact:
        phone = text_at(contact, "phone_number")
        return Attachment("contact", data={"name": _name(contact) or "", "phones": [phone] if phone else []})
    other = next((name for name in _OTHERS if object_at(message, name)), None)
    if other is None:
        return None
    return Attachment("other", data={"type": other, "content": dict(object_at(message, other))})


def _title(query: Any, choice: str) -> str | None:
    for row in list_at(query, "message", "reply_markup", "inline_keyboard"):
        for button in row if is_list(row) else ():
            if text_at(button, "callback_data") == choice:
                return text_at(button, "text")
    return None


def _reply_to(chat: int, message: Mapping[str, Any]) -> str | None:
    number = number_at(message, "reply_to_message", "message_id")
    return None if number is None else f"{chat}:{number}"


def _id(value: Any, who: str) -> str | None:
    number = number_at(value, who, "id")
    return None if number is None else str(number)


def _name(person: Any) -> str | None:
    names = [text_at(person, "first_name"), text_at(person, "last_name")]
    return " ".join(name for name in names if name) or text_at(person, "username")
