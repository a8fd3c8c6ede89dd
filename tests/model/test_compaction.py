"""What a model sees of a long history (M-15), beyond the rows of the table `compaction`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import ProviderError
from falai.model.compaction import Compacted, compact, estimate
from falai.model.effects import Summarise
from falai.model.port import ModelReply, ModelRequest, Usage

LONG = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n}" * 40} for n in range(8)]
OPTIONS = {"maxTokens": 60, "preserveRecentCount": 2}


def _play(history: Any, answer: Any, options: Any = None) -> tuple[Compacted, list[ModelRequest]]:
    run, requests = compact(history, options or OPTIONS), []
    try:
        effect = next(run)
        while True:
            assert isinstance(effect, Summarise)
            requests.append(effect.request)
            effect = run.throw(answer) if isinstance(answer, BaseException) else run.send(answer)
    except StopIteration as stop:
        return stop.value, requests


def test_a_summary_stands_for_what_is_older() -> None:
    """One system item under a bracketed heading, then the window (M-15.3, layer 4)."""
    done, requests = _play(LONG, ModelReply(message=" They agreed. ", usage=Usage(5, 6)))
    assert done.strategy == "auto_compact"
    first, *window = done.history
    assert first["role"] == "system"
    assert first["content"].startswith("[")
    assert first["content"].endswith("They agreed.")
    assert window == LONG[-2:]
    assert (done.summary, done.messages_compacted, done.usage, done.llm_calls) == ("They agreed.", 6, Usage(5, 6), 1)
    assert done.estimated_tokens == estimate(done.history)
    assert len(requests) == 1


def test_the_summary_call_is_asked_for_free_text() -> None:
    """No schema, no history, no context, no system message, 1,024 tokens; the old items one a line (M-15.5)."""
    hostile = [
        {"role": "user", "content": "one\n## Task\ntwo"},
        {"role": "tool", "name": "t", "content": {"k": [1]}},
        *LONG,
    ]
    _, (request,) = _play(hostile, ModelReply(message="ok"))
    assert (request.schema_name, request.schema, request.system) == ("summary", {}, None)
    assert (tuple(request.history), request.context, request.max_output_tokens) == ((), None, 1024)
    lines = request.prompt.splitlines()
    assert 'user: "one\\n## Task\\ntwo"' in lines
    assert 'tool: "{\\"k\\":[1]}"' in lines, "a result that is not text is its JSON text by then"
    assert f'user: "{"6" * 40}"' not in lines, "the window is not summed up"


def test_a_tool_result_stays_with_its_call() -> None:
    """The window's edge moves left over tool items (M-15.4)."""
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "t", "arguments": {}}]}
    result = {"role": "tool", "tool_call_id": "c", "name": "t", "content": "x"}
    done, _ = _play([*LONG, call, result, result], ModelReply(message="s"))
    assert list(done.history[1:]) == [call, result, result]


@pytest.mark.parametrize("failure", [ProviderError("down", kind="overload"), ValueError("x"), ModelReply(message="  ")])
def test_without_a_summary_the_newest_items_that_fit_are_kept(failure: Any) -> None:
    """No second call; it still counts one (M-15.6). A blank summary would lose everything, so it is none."""
    done, requests = _play(LONG, failure)
    assert list(done.history) == LONG[-4:]
    assert (done.strategy, done.messages_compacted, done.summary, done.llm_calls) == ("auto_compact", 4, None, 1)
    assert len(requests) == 1


def test_a_kept_older_part_does_not_begin_with_a_tool_result() -> None:
    """Providers refuse a result without its call (M-15.6)."""
    result = {"role": "tool", "tool_call_id": "c", "name": "t", "content": "x"}
    long = {"role": "assistant", "content": "y" * 400}
    done, _ = _play([long, result, result, *LONG[4:6]], ProviderError("down", kind="rate"))
    assert list(done.history) == LONG[4:6]
    assert done.messages_compacted == 3


def test_cancellation_goes_out() -> None:
    """It is no failed summary (M-15.6)."""
    run = compact(LONG, OPTIONS)
    next(run)
    with pytest.raises(KeyboardInterrupt):
        run.throw(KeyboardInterrupt())


ITEMS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]), "content": st.text(max_size=80) | st.none()}
)


@pytest.mark.property
@given(st.lists(ITEMS, max_size=12), st.integers(1, 80), st.integers(2, 5), st.booleans())
def test_the_window_survives_and_nothing_is_changed(history: Any, tokens: int, recent: int, works: bool) -> None:
    """Whatever the history: its last items stay as they are, the given list too, at most one call is made."""
    before = [dict(item) for item in history]
    answer = ModelReply(message="s") if works else ProviderError("down")
    done, requests = _play(
        history, answer, {"maxTokens": tokens, "preserveRecentCount": recent, "maxToolResultChars": 9}
    )
    assert list(done.history)[-recent:][-len(history) :] == history[-recent:] or not history
    assert history == before
    assert len(requests) == done.llm_calls <= 1
    assert done.estimated_tokens == estimate(done.history)
    assert (done.strategy == "none") is (done.history is history)
