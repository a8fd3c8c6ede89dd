"""Telegram's Bot API as its public documentation describes it: one bot and its chats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from channel.loopback import Answer, Seen, Vendor, json_answer

__all__ = ["TelegramServer", "refused"]

_FILES = {
    "sendPhoto": "photo", "sendAudio": "audio", "sendVoice": "voice", "sendVideo": "video", "sendDocument": "document",
    "sendSticker": "sticker",
}  # fmt: skip


def refused(code: int, description: str, **parameters: Any) -> Answer:
    """An answer that says no."""
    more = {"parameters": parameters} if parameters else {}
    return json_answer({"ok": False, "error_code": code, "description": description, **more}, code)


@dataclass
class TelegramServer(Vendor):
    """`sent` has the method and its parameters of each message; `webhook` what `setWebhook` was told."""

    token: str = "123456789:AAF-a_token-of-a-bot"
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    webhook: dict[str, Any] = field(default_factory=dict)

    def answer(self, request: Seen) -> Answer:
        if request.method == "GET":
            return self._file(request.path)
        bot, _, method = request.path.removeprefix("/").partition("/")
        if bot != f"bot{self.token}":
            return refused(401, f"Unauthorized: {bot}")
        parameters = request.json()
        match method:
            case "setWebhook":
                self.webhook = parameters
                return json_answer({"ok": True, "result": True})
            case "getFile":
                return self._about(parameters["file_id"])
            case _:
                return self._message(method, parameters)

    def _message(self, method: str, parameters: dict[str, Any]) -> Answer:
        wrong = _wrong(method, parameters)
        if wrong:
            return refused(400, f"Bad Request: {wrong}")
        self.sent.append((method, parameters))
        message = {"message_id": len(self.sent), "date": 1750263773, "chat": {"id": int(parameters["chat_id"])}}
        return json_answer({"ok": True, "result": message})

    def _about(self, key: str) -> Answer:
        if key not in self.files:
            return refused(400, "Bad Request: invalid file_id")
        return json_answer({"ok": True, "result": {"file_id": key, "file_path": f"voice/{key}.oga"}})

    def _file(self, path: str) -> Answer:
        prefix = f"/file/bot{self.token}/voice/"
        if not path.startswith(prefix):
            return Answer(404, b"not found")
        return Answer(body=self.files[path.removeprefix(prefix).removesuffix(".oga")])


def _wrong(method: str, parameters: dict[str, Any]) -> str | None:
    buttons = [button for row in parameters.get("reply_markup", {}).get("inline_keyboard", []) for button in row]
    if not all(1 <= len(button["callback_data"].encode()) <= 64 and button["text"] for button in buttons):
        return "BUTTON_DATA_INVALID"
    if method == "sendMessage":
        return None if 1 <= len(parameters["text"]) <= 4096 else "message is too long"
    if method == "sendLocation":
        return None if {"latitude", "longitude"} <= set(parameters) else "there is no location"
    if method not in _FILES or not parameters.get(_FILES[method]):
        return "there is no file in the request"
    return "message caption is too long" if len(parameters.get("caption", "")) > 1024 else None
