"""The journal: what the model said is read back as it was, and asked for once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import ProviderError
from falai.host.journal import JournaledModel, from_text, to_text
from falai.model import ModelReply, ModelRequest, ToolCall, Usage
from falai.model.tasks import SummaryTask
from falai.testing import ScriptedModel

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
REPLIES = st.builds(
    ModelReply,
    message=st.text(max_size=20),
    structured=st.none() | st.dictionaries(st.text(max_size=5), PLAIN, max_size=3),
    tool_calls=st.lists(st.builds(ToolCall, name=st.text(max_size=5), arguments=PLAIN), max_size=2).map(tuple),
    usage=st.none() | st.builds(Usage, *[st.integers(0, 10**6)] * 3),
    model=st.none() | st.text(max_size=5),
    cost=st.none() | st.floats(0, 10),
    reasoning=st.none() | st.text(max_size=5),
)


def request(name: str = "speak") -> ModelRequest:
    return ModelRequest(
        schema_name=name, prompt="", system=None, history=(), context=None, schema={}, task=SummaryTask(items=())
    )  # type: ignore[arg-type]


@pytest.mark.property
@given(REPLIES)
def test_a_reply_is_read_back_as_it_was(reply: ModelReply) -> None:
    """from_text∘to_text = id."""
    assert from_text(to_text(reply)) == reply


@pytest.mark.parametrize(
    ("reply", "same"),
    [
        (ModelReply(message="\ud800"), ModelReply(message="\ufffd")),
        (ModelReply(structured={"n": 10**40}), ModelReply(structured={"n": 10**40})),
        (ModelReply(message="hi", reasoning_details=[object()]), ModelReply(message="hi")),
    ],
)
def test_a_reply_that_is_no_json_is_kept_as_far_as_it_goes(reply: ModelReply, same: ModelReply) -> None:
    """A lone surrogate, a very long number, an object of a vendor: nothing of these loses a turn."""
    assert from_text(to_text(reply)) == same


async def test_the_journal_answers_by_name_and_place() -> None:
    """What is known is not asked for again; what is not known is, and is fresh."""
    model = ScriptedModel({"speak": [{"message": "second"}], "understand": [{"a": 1}]})
    journal = JournaledModel(model, {("speak", 0): to_text(ModelReply(message="first"))})
    assert (await journal.complete(request())).message == "first"
    assert journal.fresh == []
    assert (await journal.complete(request())).structured == {"message": "second"}
    assert (await journal.complete(request("understand"))).structured == {"a": 1}
    assert [(answer.name, answer.position) for answer in journal.fresh] == [("speak", 1), ("understand", 0)]
    chunks = [
        chunk.delta
        async for chunk in JournaledModel(model, {("speak", 0): to_text(ModelReply(message="x"))}).stream(request())
    ]
    assert chunks == ["x"]


async def test_a_failure_is_not_kept() -> None:
    """Another try may go well: it has the same place."""
    script: dict[str, list[Any]] = {"speak": [ProviderError("down", kind="overload"), {"message": "up"}]}
    journal = JournaledModel(ScriptedModel(script), {})
    with pytest.raises(ProviderError):
        await journal.complete(request())
    await journal.complete(request())
    assert [(answer.name, answer.position) for answer in journal.fresh] == [("speak", 0)]
