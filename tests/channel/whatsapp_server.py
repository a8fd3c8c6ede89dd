"""Meta's Cloud API as its public documentation describes it: one phone number, its customers, and the webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from channel.loopback import Answer, Seen, Vendor, json_answer

__all__ = ["WhatsAppServer", "error"]

_KINDS = {"text", "image", "audio", "video", "document", "sticker", "location", "interactive", "template"}


def error(code: int, message: str, status: int = 400, **more: Any) -> Answer:
    """An error of the Graph API."""
    headers = more.pop("headers", {})
    body = {"error": {"message": f"(#{code}) {message}", "type": "OAuthException", "code": code, **more}}
    return json_answer(body, status, headers)


@dataclass
class WhatsAppServer(Vendor):
    """`sent` is what customers have, in order; `pair_limit` how many messages one may get before it is too much."""

    number: str = "106540352242922"
    token: str = "EAAG-a-token-that-may-send"
    app_secret: str = "the-secret-of-the-app"
    verify_token: str = "a-word-of-the-host"
    sent: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    pair_limit: int = 45

    def answer(self, request: Seen) -> Answer:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return error(190, f"Invalid OAuth access token {request.headers.get('authorization')}", 401)
        if request.method == "GET":
            return self._file(request.path.removeprefix("/"))
        if request.path != f"/{self.number}/messages":
            return error(100, "Unsupported post request")
        message = request.json()
        wrong = _wrong(message)
        if wrong:
            return error(100, "Invalid parameter", error_data={"messaging_product": "whatsapp", "details": wrong})
        to = message.get("to") or message["recipient"]
        if Counter(self._to(each) for each in self.sent)[to] >= self.pair_limit:
            return error(131056, "Pair rate limit hit")
        self.sent.append(message)
        contact = {"input": to, "wa_id": to}
        messages = [{"id": f"wamid.{len(self.sent)}"}]
        return json_answer({"messaging_product": "whatsapp", "contacts": [contact], "messages": messages})

    def status(self, number: int, status: str, **more: Any) -> tuple[dict[str, str], bytes]:
        """A signed request that tells what became of the message with this number, from 1."""
        message = self.sent[number - 1]
        told = {"id": f"wamid.{number}", "status": status, "timestamp": "1750263773", "recipient_id": self._to(message)}
        if "biz_opaque_callback_data" in message:
            told["biz_opaque_callback_data"] = message["biz_opaque_callback_data"]
        return self.signed({"statuses": [{**told, **more}]})

    def signed(self, *values: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        """A request of the webhook with these changes."""
        common = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": self.number}}
        changes = [{"field": "messages", "value": {**common, **value}} for value in values]
        body = json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": changes}]}).encode()
        digest = hmac.new(self.app_secret.encode(), body, hashlib.sha256).hexdigest()
        return {"X-Hub-Signature-256": f"sha256={digest}"}, body

    def _file(self, path: str) -> Answer:
        if path.startswith("bytes/"):
            return Answer(body=self.files[path.removeprefix("bytes/")])
        if path not in self.files:
            return error(100, "Unsupported get request. Object does not exist")
        return json_answer({"url": f"{self.url}/bytes/{path}", "mime_type": "audio/ogg", "id": path})

    @staticmethod
    def _to(message: dict[str, Any]) -> str:
        return message.get("to") or message["recipient"]


def _wrong(message: dict[str, Any]) -> str | None:
    kind = message.get("type")
    if message.get("messaging_product") != "whatsapp" or kind not in _KINDS or not isinstance(message.get(kind), dict):
        return f"no message: {kind}"
    if len(message.get("biz_opaque_callback_data", "")) > 512:
        return "Param biz_opaque_callback_data is too long"
    if ("to" in message) == ("recipient" in message) or not message.get("to", "1").isdigit():
        return "The parameter to is a phone number, recipient an id"
    return _wrong_content(kind, message[kind])


def _wrong_content(kind: str, content: dict[str, Any]) -> str | None:
    match kind:
        case "text":
            return None if 1 <= len(content["body"]) <= 4096 else "Param text.body must be at most 4096 characters long"
        case "interactive":
            return _wrong_interactive(content)
        case "image" | "video" | "document" | "audio" | "sticker":
            if ("id" in content) == ("link" in content):
                return "either id or link"
            if "caption" in content and (kind in ("audio", "sticker") or len(content["caption"]) > 1024):
                return "caption"
    return None


def _wrong_interactive(content: dict[str, Any]) -> str | None:
    if not 1 <= len(content["body"]["text"]) <= 1024:
        return "body.text"
    action = content["action"]
    if content["type"] == "button":
        titles = [button["reply"]["title"] for button in action["buttons"]]
        return None if 1 <= len(titles) <= 3 and all(1 <= len(title) <= 20 for title in titles) else "buttons"
    rows = [row for section in action["sections"] for row in section["rows"]]
    right = 1 <= len(rows) <= 10 and all(1 <= len(row["title"]) <= 24 for row in rows) and "header" not in content
    return None if right and 1 <= len(action["button"]) <= 20 else "rows"
