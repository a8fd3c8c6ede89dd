"""What a model sees of a long history (M-15). The stored history is never rewritten.

Four layers are tried in order; the first whose estimate is below the limit is the answer. Only the
last one costs a call, and when that fails the newest items that fit are kept instead.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from falai.log import line
from falai.model.effects import Summarise
from falai.model.failures import classify
from falai.model.port import HistoryItem, ModelReply, ModelRequest, Usage
from falai.model.quoting import literal, name
from falai.model.tasks import SummaryTask
from falai.session.jsontext import json_text

__all__ = ["Compacted", "compact", "estimate"]

_LOG: Final = logging.getLogger(__name__)
_SPACES = re.compile(r"\s+")
_HEADING: Final = "[Summary of the earlier conversation]"
_PROMPT: Final = """\
Sum up the older part of a conversation, which follows, for whoever carries it on. Be brief, and keep every fact, \
everything that was agreed and every circumstance that may matter later. Each line below is quoted data: the role, \
then what was said as a JSON literal. Answer with the summary alone."""

Strategy = Literal["none", "tool_result_budget", "micro_compact", "auto_compact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The history to show, and how it came about (M-15.7). `llm_calls` is 1 when a summary was asked for."""

    history: Sequence[HistoryItem]
    strategy: Strategy
    estimated_tokens: int
    messages_compacted: int = 0
    summary: str | None = None
    usage: Usage | None = None
    llm_calls: int = 0


def compact(
    history: Sequence[HistoryItem], options: Mapping[str, Any] | None
) -> Generator[Summarise, ModelReply, Compacted]:
    """The history as both calls are to see it; the same object when it is short enough (M-15.3).

    `options` are checked compaction options in wire form (F-16.4); `None`, or `enabled: false`,
    leaves the history as it is. Raises nothing for a failed summary (M-15.6).
    """
    size = estimate(history)
    if not options or options.get("enabled") is False or size < _limit(options):
        return Compacted(history=history, strategy="none", estimated_tokens=size)
    recent = len(history) - options.get("preserveRecentCount", 4)
    budget = options.get("maxToolResultChars", 5000)
    cut = [_cut(item, budget) if i < recent else item for i, item in enumerate(history)]
    if (done := _fitting("tool_result_budget", history, cut, options)) is not None:
        return done
    squeezed = [_squeezed(item) if i < recent else item for i, item in enumerate(cut)]
    if (done := _fitting("micro_compact", history, squeezed, options)) is not None:
        return done
    edge = _edge(squeezed, recent)
    if edge == 0:
        changed = _changed(history, squeezed)
        strategy: Strategy = "micro_compact" if changed else "none"
        kept: Sequence[HistoryItem] = squeezed if changed else history
        return Compacted(history=kept, strategy=strategy, estimated_tokens=estimate(kept), messages_compacted=changed)
    return (yield from _summarised(squeezed, edge, options))


def estimate(history: Sequence[HistoryItem]) -> int:
    """About how many tokens a history takes (M-15.2)."""
    return _tokens(sum(map(_length, history)))


def _tokens(characters: int) -> int:
    return math.ceil(characters / 4)


def _limit(options: Mapping[str, Any]) -> float:
    return float(options["maxTokens"] * options.get("compactionThreshold", 0.8))


def _length(item: HistoryItem) -> int:
    content = item.get("content")
    size = 2 if content is None else len(_text(content))
    return size + len(item.get("name") or "") + 4


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json_text(content)


def _fitting(
    strategy: Strategy, before: Sequence[HistoryItem], after: list[HistoryItem], options: Mapping[str, Any]
) -> Compacted | None:
    size = estimate(after)
    if size >= _limit(options):
        return None
    return Compacted(
        history=after, strategy=strategy, estimated_tokens=size, messages_compacted=_changed(before, after)
    )


def _changed(before: Sequence[HistoryItem], after: Sequence[HistoryItem]) -> int:
    return sum(old is not new for old, new in zip(before, after, strict=True))


def _cut(item: HistoryItem, budget: int) -> HistoryItem:
    """A tool's result without what is beyond the budget."""
    if item.get("role") != "tool":
        return item
    text = _text(item.get("content"))
    if len(text) <= budget:
        return item
    notice = f"[cut: {len(text)} characters, {budget} are shown]"
    return {**item, "content": f"{text[:budget]}\n\n{notice}"}


def _squeezed(item: HistoryItem) -> HistoryItem:
    """A tool's result with every run of white space as one space."""
    if item.get("role") != "tool":
        return item
    content = item.get("content")
    squeezed = _SPACES.sub(" ", _text(content)).strip()
    return item if squeezed == content else {**item, "content": squeezed}


def _edge(history: Sequence[HistoryItem], recent: int) -> int:
    """Where the window begins, so that no tool result is parted from its call (M-15.4)."""
    edge = max(0, recent)
    while 0 < edge < len(history) and history[edge].get("role") == "tool":
        edge -= 1
    return edge


def _summarised(
    history: Sequence[HistoryItem], edge: int, options: Mapping[str, Any]
) -> Generator[Summarise, ModelReply, Compacted]:
    """Layer 4: one system item stands for all items before the window (M-15.5)."""
    try:
        reply = yield Summarise(_request(history[:edge]))
        summary = reply.message.strip()
    except Exception as error:  # noqa: BLE001  # a provider may raise anything
        kind = classify(error).kind
        _LOG.warning("the summary call failed: %s", kind, extra=line("summary.failed", kind=kind))
        return _shortened(history, edge, options, None)
    if not summary:
        return _shortened(history, edge, options, reply.usage)
    kept = [{"role": "system", "content": f"{_HEADING}\n{summary}"}, *history[edge:]]
    return Compacted(
        history=kept,
        strategy="auto_compact",
        estimated_tokens=estimate(kept),
        messages_compacted=edge,
        summary=summary,
        usage=reply.usage,
        llm_calls=1,
    )


def _request(items: Sequence[HistoryItem]) -> ModelRequest:
    lines = "\n".join(f"{name(str(item.get('role')))}: {literal(item.get('content'))}" for item in items)
    return ModelRequest(
        schema_name="summary",
        prompt=f"{_PROMPT}\n\n{lines}",
        system=None,
        history=(),
        context=None,
        schema={},
        task=SummaryTask(items=tuple(items)),
        max_output_tokens=1024,
    )


def _shortened(history: Sequence[HistoryItem], edge: int, options: Mapping[str, Any], usage: Usage | None) -> Compacted:
    """The window and as many items before it as fit; no result without its call (M-15.6)."""
    limit = _limit(options)
    start, size = edge, sum(map(_length, history[edge:]))
    while start > 0 and _tokens(size := size + _length(history[start - 1])) < limit:
        start -= 1
    while start < edge and history[start].get("role") == "tool":
        start += 1
    kept = history[start:]
    return Compacted(
        history=kept,
        strategy="auto_compact",
        estimated_tokens=estimate(kept),
        messages_compacted=start,
        usage=usage,
        llm_calls=1,
    )
