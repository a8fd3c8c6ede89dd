"""A system that takes signed webhooks by the rules of Standard Webhooks, written from those rules alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

from channel.loopback import Answer, Seen, Vendor, json_answer

__all__ = ["Receiver", "signed"]


@dataclass
class Receiver(Vendor):
    """`taken` has what came in by its id: a second delivery of one is known and dropped."""

    key: bytes = b"a key of twenty-four bytes"
    now: int = 1_750_000_000
    taken: dict[str, Any] = field(default_factory=dict)

    @property
    def secret(self) -> str:
        return f"whsec_{base64.b64encode(self.key).decode()}"

    def answer(self, request: Seen) -> Answer:
        stamp = request.headers["webhook-timestamp"]
        expected = signed(self.key, request.headers["webhook-id"], int(stamp), request.body)["webhook-signature"]
        if expected not in request.headers["webhook-signature"].split() or abs(int(stamp) - self.now) > 300:
            return Answer(401, b"this was not signed by the secret that we share")
        self.taken.setdefault(request.headers["webhook-id"], request.json())
        return json_answer({"id": f"r-{list(self.taken).index(request.headers['webhook-id']) + 1}"})


def signed(key: bytes, id: str, stamp: int, body: bytes) -> dict[str, str]:
    """The headers that go with a body."""
    digest = hmac.new(key, f"{id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": id, "webhook-timestamp": str(stamp), "webhook-signature": signature}
