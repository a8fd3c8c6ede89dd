"""What a ledger promises, as plain lists in memory: slow, obvious, and the measure of the real ones."""

from __future__ import annotations

from dataclasses import dataclass, field

Seen = tuple[int, int]


@dataclass(eq=False)
class Input:
    key: str
    kind: str
    received: int
    pause: int
    not_before: int
    attempts: int = 0
    state: str = "new"


@dataclass(eq=False)
class Message:
    turn: int
    body: str
    after: int
    due: int
    by_person: bool
    attempts: int = 0
    state: str = "new"


@dataclass
class Conversation:
    """One session; `exists` from the first input or hold on."""

    exists: bool = False
    spoke: bool = False
    revision: int = 0
    epoch: int = 0
    closed: bool = False
    inputs: list[Input] = field(default_factory=list)
    outbox: list[Message] = field(default_factory=list)
    wakes: dict[str, int] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Input]:
        return [row for row in self.inputs if row.state == "new"]

    @property
    def unsent(self) -> list[Message]:
        return [row for row in self.outbox if row.state == "new"]

    @property
    def seen(self) -> Seen:
        """What a turn is compared with."""
        return self.revision, self.epoch

    def find(self, key: str) -> Input | None:
        """The input of this key that waits."""
        return next((row for row in self.waiting if row.key == key), None)

    def candidates(self, now: int) -> list[Input]:
        """What waits, without those that let others pass them."""
        return [
            row for row in self.waiting if row.not_before <= now or row.attempts > 0 or row.kind in {"message", "human"}
        ]

    def job(self, now: int) -> list[Input]:
        rows = self.candidates(now)[:50]
        burst = rows[:1]
        for row in rows[1:]:
            last = burst[-1]
            paused = last.received < last.pause and row.received < last.pause
            if last.kind != "message" or row.kind != "message" or not paused:
                break
            burst.append(row)
        return burst if all(row.not_before <= now for row in burst) else []

    def receive(self, key: str, kind: str, now: int, pause: int) -> bool:
        self.exists = True
        if any(row.key == key for row in self.inputs):
            return False
        end = now + pause
        self.inputs.append(Input(key, kind, now, end if kind == "message" else now, end))
        return True

    def commit(
        self, job: list[Input], seen: Seen, now: int, replies: list[tuple[str, int]], person: bool
    ) -> str | None:
        if not self.exists or self.revision != seen[0]:
            return "version"
        if self.epoch != seen[1]:
            return "gate"
        rows = [self.find(row.key) for row in job]
        if any(row is None or row.received != taken.received for row, taken in zip(rows, job, strict=True)):
            return "version"
        self.revision += 1
        self.spoke = True
        for row in rows:
            assert row is not None
            row.state = "done"
        due = now
        for body, after in replies:
            due += after
            self.outbox.append(Message(self.revision, body, after, due, person))
        return None

    def hold(self) -> int:
        self.exists = True
        self.epoch += not self.closed
        self.closed = True
        withheld = [row for row in self.unsent if not row.by_person]
        for row in withheld:
            row.state = "withheld"
        return len(withheld)

    def release(self) -> bool:
        if self.closed:
            self.epoch += 1
        was, self.closed = self.closed, False
        return was

    def sent(self, message: Message, now: int) -> None:
        message.state = "sent"
        place = self.outbox.index(message) + 1
        if place < len(self.outbox) and (self.outbox[place].turn, self.outbox[place].state) == (message.turn, "new"):
            row = self.outbox[place]
            row.due = max(row.due, now + row.after)

    def fire(self, key: str, now: int) -> None:
        due = self.wakes.pop(key)
        name = f"wake:{due}:{key}"
        if self.spoke and not any(row.key == name for row in self.inputs):
            self.inputs.append(Input(name, "wake", now, now, due))
