"""The same conversation by hand: a dict, two prompts, two calls, a JSON row in SQLite.

This is the least that a program could do and still have the conversation: it reads its row, asks
the model twice with prompts that say what has to be said, reads the two JSON answers, moves one
state along, and writes its row if nobody was faster. It checks no value, keeps no record of what it
did, knows one flow, and cannot wait.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.conversation import Answers, spoken, understood

__all__ = ["Floor"]

FIELDS = {
    "name": "Ask for the name lightly.",
    "size": "Ask how many people would use it.",
    "start": "Ask from when they need it.",
}
CONFIRM = {"agreed": "Sum up what you noted and ask whether it is right."}
SYSTEM = "You are Ana. Warm, brief, never invents prices.\nYour goal: Find out what a company needs."
READ = "Judge the newest message. A value counts only when the message states it; otherwise it is null."
SAY = "Phrase one reply. Ask for what is missing, at most two things at once; ask nothing that is known."
FORMAT = "Answer with one JSON object and nothing around it. Its keys: "


class Floor:
    """Answers a message, by hand."""

    def __init__(self, db: sqlite3.Connection, answers: Answers) -> None:
        self.db = db
        self.answers = answers
        db.execute(
            "CREATE TABLE IF NOT EXISTS floor (id TEXT PRIMARY KEY, version INTEGER NOT NULL, blob TEXT NOT NULL)"
        )

    async def answer(self, session_id: str, text: str, message_id: str) -> str:
        """One message: load, ask twice, move on, save."""
        row = self.db.execute("SELECT version, blob FROM floor WHERE id = ?", (session_id,)).fetchone()
        version, state = (row[0], json.loads(row[1])) if row else (0, {"data": {}, "seen": [], "step": "who"})
        if message_id in state["seen"]:
            return ""
        state["seen"] = [*state["seen"], message_id][-50:]
        read = await self._call(_prompt(READ, state["data"], FIELDS.items(), text, ["flows", *FIELDS]), understood)
        state["data"].update(read["fields"])
        reply = await self._call(self._speak_prompt(state, text), spoken)
        self._move(state, reply)
        self._save(session_id, version, json.dumps(state))
        return str(reply["message"])

    def _speak_prompt(self, state: dict[str, Any], text: str) -> str:
        data = state["data"]
        missing = [(field, ask) for field, ask in FIELDS.items() if field not in data] or CONFIRM.items()
        return _prompt(SAY, data, missing, text, ["message", *(field for field, _ in missing)])

    async def _call(self, prompt: str, answer: Callable[[int], str]) -> dict[str, Any]:
        assert prompt
        found: dict[str, Any] = json.loads(answer(self.answers.number))
        return found

    def _move(self, state: dict[str, Any], reply: dict[str, Any]) -> None:
        if all(field in state["data"] for field in FIELDS):
            state["step"] = "confirm"
        if reply.get("agreed"):
            state["step"] = "done"
            state["told"] = "{name}: {size} people from {start}".format(**state["data"])

    def _save(self, session_id: str, version: int, blob: str) -> None:
        with self.db:
            if version:
                sql = "UPDATE floor SET version = version + 1, blob = ? WHERE id = ? AND version = ?"
                saved = self.db.execute(sql, (blob, session_id, version))
            else:
                saved = self.db.execute("INSERT INTO floor VALUES (?, 1, ?)", (session_id, blob))
        assert saved.rowcount == 1, "another writer was faster"


def _prompt(task: str, known: dict[str, Any], fields: Iterable[tuple[str, str]], text: str, keys: list[str]) -> str:
    facts = "\n".join(f"- {field}: {json.dumps(value)}" for field, value in known.items())
    asks = "\n".join(f"- {field}: {ask}" for field, ask in fields)
    return (
        f"{SYSTEM}\n\n{task}\n\nKnown:\n{facts}\n\nFields:\n{asks}\n\n"
        f"Message:\n```\n{text}\n```\n\n{FORMAT}{', '.join(keys)}"
    )
