"""What a line of input means, and where lines come from."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import Message
from falai.channel.port import Attachment
from falai.cli.running.feeds import LONGEST, feed_from_folder
from falai.cli.running.requests import read_request

MESSAGE = {"session": "s1", "id": "m1", "message": "hello"}


def _line(**keys: Any) -> bytes:
    return json.dumps(keys).encode()


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        (MESSAGE, "message", {"message": "hello", "id": "m1"}),
        (MESSAGE | {"message": ""}, "message", {"message": "", "id": "m1"}),
        (MESSAGE | {"at": "2026-11-30"}, "message", {"message": "hello", "id": "m1", "at": "2026-11-30"}),
        (
            {"session": "s1", "event": "paid", "key": "e1", "payload": {"amount": 5}}, "event",
            {"event": "paid", "key": "e1", "payload": {"amount": 5}},
        ),
        ({"session": "s1", "start": {"flow": "f", "key": "k"}}, "start", {"start": {"flow": "f", "key": "k"}}),
        ({"session": "s1", "hold": "Rui writes"}, "hold", {"hold": "Rui writes"}),
        ({"session": "s1", "release": True}, "release", {"release": True}),
        ({"session": "s1", "id": "h", "human": "hi", "by": "Rui"}, "human", {"human": "hi", "id": "h", "by": "Rui"}),
    ],
)  # fmt: skip
def test_what_a_line_asks(line: dict[str, Any], kind: str, said: dict[str, Any]) -> None:
    """An input in its wire form, or a word of the team."""
    request = read_request(_line(**line))
    assert (request.session, request.kind, request.said, request.who) == ("s1", kind, said, {})
    assert (request.input is not None) is (kind in ("message", "event", "start"))


def test_who_wrote_and_what_came_with_it() -> None:
    """What is known of the customer stands beside the input, and attachments are what a channel gives."""
    who = {"customer": "c1", "channel": "whatsapp", "address": "+55", "tenant": "north"}
    picture = {"kind": "image", "url": "https://example.org/a.png", "caption": "my tooth"}
    request = read_request(_line(**MESSAGE, **who, attachments=[picture]))
    assert (request.who, request.input) == (who, Message("hello", id="m1"))
    assert request.attachments == (Attachment("image", url="https://example.org/a.png", caption="my tooth"),)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"hello", "it is no JSON in UTF-8"),
        (b'{"session": "\xff"}', "it is no JSON in UTF-8"),
        (b"[1]", "it is a list, and should be an object"),
        (b"null", "it is null, and should be an object"),
        (b"{}", "exactly one of message, event, start, hold, release, human; this one has none of them"),
        (_line(**MESSAGE, event="paid"), "this one has message and event"),
        (_line(session="s1", message=None), "this one has none of them"),
        (_line(message="x", id="m"), "session is null, and should be a text that is not blank"),
        (_line(**MESSAGE | {"session": " "}), 'session is " ", and should be'),
        (_line(**MESSAGE | {"session": 7}), "session is 7"),
        (_line(**MESSAGE | {"message": 7}), "message is 7, and should be a text"),
        (_line(**MESSAGE, customer=7), "customer is 7, and should be a text"),
        (_line(session="s1", message="x"), "a message needs an id, by which it is known when the line comes again"),
        (_line(session="s1", human="x", id=""), "a human needs an id"),
        (_line(session="s1", hold=True), "hold is true, and should be a text"),
        (_line(session="s1", release=False), "release is false: write true"),
        (_line(**MESSAGE, adress="x"), 'no "adress". Did you mean "address"? It has session, message, id'),
        (_line(session="s1", hold="x", id="m"), 'a line with hold has no "id"'),
        (_line(session="s1", event="paid"), "key: null was given, a text that is not blank is expected"),
        (_line(session="s1", start="nudge"), "start"),
        (_line(**MESSAGE, attachments="x"), "attachments: Expected `array`"),
        (_line(**MESSAGE, attachments=[{"kind": "odour"}]), "attachments: Invalid enum value 'odour'"),
    ],
)
def test_a_line_that_is_none(line: bytes, words: str) -> None:
    """What was found, and what to write."""
    with pytest.raises(ValueError) as raised:  # noqa: PT011  # the words are looked at below
        read_request(line)
    assert words in str(raised.value)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
_keys = st.sampled_from(
    ["session", "message", "event", "start", "hold", "release", "human", "id", "key", "attachments", "tenant", "x"]
)


@pytest.mark.property
@given(st.binary() | st.dictionaries(_keys, _json).map(lambda line: json.dumps(line).encode()))
def test_any_bytes_are_a_line_or_refused(line: bytes) -> None:
    """No other error, whatever comes."""
    try:
        request = read_request(line)
    except ValueError:
        return
    assert request.session.strip()


# --- files in a folder ------------------------------------------------------------------------


class _Taken:
    """Takes every line but those with `bad` in them."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    async def take(self, line: bytes) -> str | None:
        self.lines.append(line)
        return "bad" if b"bad" in line else None


async def test_files_are_taken_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Line by line, without the blank ones; a file that was taken is gone, others are left alone."""
    (tmp_path / "2.jsonl").write_bytes(b"c\n")
    (tmp_path / "1.jsonl").write_bytes(b"a\n\n  \nb")
    (tmp_path / "3.jsonl.part").write_bytes(b"not whole\n")
    taken = _Taken()
    await feed_from_folder(tmp_path, taken.take, once=True)
    assert [line.strip() for line in taken.lines] == [b"a", b"b", b"c"]
    assert [file.name for file in tmp_path.iterdir()] == ["3.jsonl.part"]


async def test_refused_lines_are_kept_aside(tmp_path: Path) -> None:
    """Those alone, under the file's name, for a person to mend."""
    (tmp_path / "1.jsonl").write_bytes(b"a\nbad 1\r\nb\nbad 2")
    await feed_from_folder(tmp_path, _Taken().take, once=True)
    assert [file.name for file in tmp_path.iterdir()] == ["refused"]
    assert (tmp_path / "refused" / "1.jsonl").read_bytes() == b"bad 1\nbad 2\n"


async def test_refused_lines_of_an_earlier_file_stay(tmp_path: Path) -> None:
    """Whoever writes under the same name each time loses none."""
    for line in (b"bad 1\n", b"bad 2\n"):
        (tmp_path / "in.jsonl").write_bytes(line)
        await feed_from_folder(tmp_path, _Taken().take, once=True)
    assert (tmp_path / "refused" / "in.jsonl").read_bytes() == b"bad 1\nbad 2\n"


async def test_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    """A folder, or a pipe into which nobody writes, holds nobody up."""
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "z.jsonl").write_bytes(b"a\n")
    taken = _Taken()
    await feed_from_folder(tmp_path, taken.take, once=True)
    assert taken.lines == [b"a\n"]


async def test_a_file_that_was_broken_off_is_taken_again(tmp_path: Path) -> None:
    """The file is there until its last line is taken: the lines come again, and their ids are known."""
    (tmp_path / "1.jsonl").write_bytes(b"a\nb\n")

    async def breaks(line: bytes) -> str | None:
        if line == b"b\n":
            raise asyncio.CancelledError
        return None

    with pytest.raises(asyncio.CancelledError):
        await feed_from_folder(tmp_path, breaks, once=True)
    taken = _Taken()
    await feed_from_folder(tmp_path, taken.take, once=True)
    assert taken.lines == [b"a\n", b"b\n"]


async def test_a_line_that_is_far_too_long_is_one_line(tmp_path: Path) -> None:
    """It is not held in memory, and what comes after it is understood."""
    (tmp_path / "1.jsonl").write_bytes(b"x" * (3 * LONGEST) + b"\nnext\n")
    taken = _Taken()
    await feed_from_folder(tmp_path, taken.take, once=True)
    assert [len(line) for line in taken.lines] == [LONGEST + 1, 5]
