"""Two versions of one step, in wire form: every difference, as a code and a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from falai.flow.comparing.words import listed_changes, reordered, same, shown, target_words, value_change
from falai.flow.places import Wire, is_list, is_object
from falai.flow.wire import body_kinds
from falai.session.jsontext import quoted

__all__ = ["Difference", "Kind", "each", "instruction_changes", "kind_of", "step_changes"]

Kind = Literal[
    "flow-added", "flow-removed", "flow-renamed", "trigger", "step-added", "step-removed", "step-renamed", "step-moved",
    "step-kind", "text", "fields", "wait", "condition", "action", "target", "branch", "instruction", "setting",
]  # fmt: skip
Difference = tuple[Kind, str]

_KIND_WORDS = {
    "collect": "asks for fields",
    "prompt": "talks",
    "say": "says a fixed text",
    "do": "runs an action",
    "wait": "waits for a time",
    "waitEvent": "waits for an event",
    "if": "is a fork",
}
_UNREAD = ("id", "kind", "ui")


def kind_of(step: Wire) -> str:
    """The kind of a step whose shape is right."""
    return body_kinds(step)[0]


def step_changes(old: Wire, new: Wire) -> list[Difference]:
    """What is different in a step, the most important first."""
    before, after = kind_of(old), kind_of(new)
    if before != after:
        what = f"it {_KIND_WORDS[after]}; before, it {_changed_kind(_KIND_WORDS[before])}"
        return [("step-kind", what), *_differences(_common(old), _common(new))]
    return list(_differences(old, new))


def instruction_changes(old: Sequence[Wire], new: Sequence[Wire]) -> Iterator[Difference]:
    """Instructions that came and went, and their order, in which the model reads them."""
    for instruction in new:
        if not any(same(instruction, other) for other in old):
            yield "instruction", f"an instruction is new: {shown(instruction.get('prompt'))}"
    for instruction in old:
        if not any(same(instruction, other) for other in new):
            yield "instruction", f"an instruction is gone: {shown(instruction.get('prompt'))}"
    if reordered(old, new):
        yield "instruction", "its instructions stand in another order"


def each(kind: Kind, sentences: Iterable[str]) -> Iterator[Difference]:
    """The sentences as differences of one kind."""
    for what in sentences:
        yield kind, what


def _list(value: Any) -> Sequence[Any]:
    return value if is_list(value) else ()


def _object(value: Any) -> Wire:
    return value if is_object(value) else {}


def _changed_kind(words: str) -> str:
    return {"asks for fields": "asked for fields", "talks": "talked", "says a fixed text": "said a fixed text",
            "runs an action": "ran an action", "waits for a time": "waited for a time",
            "waits for an event": "waited for an event", "is a fork": "was a fork"}[words]  # fmt: skip


def _common(step: Wire) -> dict[str, Any]:
    return {key: step[key] for key in ("label", "then") if key in step}


def _differences(old: Wire, new: Wire) -> Iterator[Difference]:
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if key not in _UNREAD and not same(before, after):
            yield from _BY_KEY.get(key, _setting)(key, before, after)


def _setting(key: str, old: Any, new: Any) -> Iterator[Difference]:
    yield "setting", value_change(key, old, new)


def _as(kind: Kind) -> Callable[[str, Any, Any], Iterator[Difference]]:
    def tell(key: str, old: Any, new: Any) -> Iterator[Difference]:
        yield kind, value_change(key, old, new)

    return tell


def _fields(_: str, old: Any, new: Any) -> Iterator[Difference]:
    words = ("it asks as well for", "it no longer asks for", "it asks for its fields in another order")
    yield from each("fields", listed_changes(_list(old), _list(new), *words))


def _asks(_: str, old: Any, new: Any) -> Iterator[Difference]:
    before, after = _object(old), _object(new)
    for slug in dict.fromkeys([*before, *after]):
        if before.get(slug) != after.get(slug):
            yield "text", value_change(f"how it asks for {quoted(slug)}", before.get(slug), after.get(slug))


def _wait(key: str, old: Any, new: Any) -> Iterator[Difference]:
    before, after = _object(old), _object(new)
    if not before or not after:
        yield "wait", value_change(key, old, new)
        return
    if before["event"] != after["event"]:
        yield "wait", f"it waits for the event {quoted(after['event'])} instead of {quoted(before['event'])}"
    if before.get("upTo") != after.get("upTo"):
        yield "wait", value_change("how long it waits at most", before.get("upTo"), after.get("upTo"))


def _target(key: str, old: Any, new: Any) -> Iterator[Difference]:
    yield "target", f"{key} leads to {_led(key, new)} instead of {_led(key, old)}"


def _led(key: str, target: Any) -> str:
    """What a way out that is not written leads to: behind a `then` comes the next step, nothing behind the others."""
    unset = {"else": "the end", "onFail": "the next step"}
    return unset.get(key, target_words(None)) if target is None else target_words(target)


def _given(_: str, old: Any, new: Any) -> Iterator[Difference]:
    before, after = _object(old), _object(new)
    for name in dict.fromkeys([*before, *after]):
        if not same(before.get(name), after.get(name)):
            yield "action", value_change(f"the parameter {quoted(name)}", before.get(name), after.get(name))


def _branches(_: str, old: Any, new: Any) -> Iterator[Difference]:
    before, after = _list(old), _list(new)
    for branch in after:
        was = _of_same_test(branch, before)
        if was is None:
            yield "branch", f"a branch is new: {_test(branch)} leads to {target_words(branch['then'])}"
        elif not same(was["then"], branch["then"]):
            led = f"leads to {target_words(branch['then'])} instead of {target_words(was['then'])}"
            yield "branch", f"the branch {_test(branch)} {led}"
    gone = [branch for branch in before if _of_same_test(branch, after) is None]
    yield from each("branch", (f"a branch is gone: {_test(branch)}" for branch in gone))
    if (
        not gone
        and len(before) == len(after)
        and not all(same(_tests(a), _tests(b)) for a, b in zip(before, after, strict=True))
    ):
        yield "branch", "its branches are tried in another order"


def _of_same_test(branch: Wire, others: Sequence[Wire]) -> Wire | None:
    return next((other for other in others if same(_tests(other), _tests(branch))), None)


def _tests(branch: Wire) -> dict[str, Any]:
    return {key: branch[key] for key in ("when", "if") if key in branch}


def _test(branch: Wire) -> str:
    return " and ".join(shown(test) for test in _tests(branch).values())


def _instructions(_: str, old: Any, new: Any) -> Iterator[Difference]:
    yield from instruction_changes(_list(old), _list(new))


def _tools(_: str, old: Any, new: Any) -> Iterator[Difference]:
    if old is None or new is None:
        yield "setting", value_change("the list of tools", old, new)
        return
    words = ("it may use as well", "it may no longer use", "its tools stand in another order")
    yield from each("setting", listed_changes(_list(old), _list(new), *words))


_BY_KEY: Mapping[str, Callable[[str, Any, Any], Iterator[Difference]]] = {
    **dict.fromkeys(("say", "prompt", "question"), _as("text")),
    "collect": _fields,
    "ask": _asks,
    "wait": _wait,
    "businessHours": _as("wait"),
    "if": _as("condition"),
    "do": _as("action"),
    "with": _given,
    **dict.fromkeys(("then", "else", "onFail"), _target),
    "branches": _branches,
    "instructions": _instructions,
    "tools": _tools,
}
