"""How a flow works, told to the model that writes one: what its schema cannot say (S-59, S-60).

The same for every request, so it travels as the stable prefix and a provider can cache it.
"""

from __future__ import annotations

from typing import Any, Final

from falai.flow.durations import EXAMPLES
from falai.model.quoting import literal
from falai.model.sections import joined, section

__all__ = ["EXAMPLE", "GUIDE"]


def _step(id: str, kind: str, then: Any = None, **own: Any) -> dict[str, Any]:
    return {"id": id, "label": None, "then": then, "kind": kind, **own}


_PHRASES: Final = ["wants to reserve a table", "!asks about a table that is booked already"]
_KNOWN: Final = {"equals": None, "known": ["day", "guests"], "silenced": None}
_PERSON: Final = {"flow": "person"}

EXAMPLE: Final[dict[str, Any]] = {
    "id": "book-table",
    "name": "Book a table",
    "description": "The customer wants to reserve a table.",
    "on": [{"message": _PHRASES, "if": None, "repeat": None}],
    "anchor": None,
    "while": None,
    "collect": None,
    "clearOnStart": None,
    "steps": [
        _step(
            "details",
            "collect",
            collect=["day", "guests"],
            prompt="Find out for which day and how many people.",
            question=None,
            maxAsks=None,
            branches=[{"when": "wants to talk to a person", "then": _PERSON}],
        ),
        _step("complete", "if", "book", **{"if": _KNOWN, "else": "unclear"}),
        _step("unclear", "say", _PERSON, say="A colleague will sort this out with you.", media=None, once=None),
        _step("book", "do", do="book_table", **{"with": {"day": "{{data.day}}"}}, onFail=_PERSON),
        _step("done", "say", say="Your table for {{data.day}} is booked. See you soon!", media=None, once=None),
    ],
    "onEnd": None,
    "instructions": None,
}
"""One worked example, as the schema has it, of an agent that nobody has: its names mean nothing elsewhere."""

_ROLE: Final = """\
You write flows for an assistant that talks to a business's customers. A flow is one JSON object: \
what makes it begin, and its steps. Code carries the steps out, one after the other; \
the assistant finds words where a step has it talk, and decides nothing else."""

_BEGINS: Final = """\
Each entry of "on" has one of these; without any, only another flow or the business starts it:
- message: what a customer may want, in one to four short phrases about the customer ("wants to cancel an order"). \
A phrase that begins with ! is an exception, and never stands alone. \
The empty list is for a flow that takes whatever no other flow takes.
- mention: the same for what may come up on the side while another flow talks.
- silence: the customer has not answered for so long.
- event: the business reports something. "after" lets time pass first."""

_STEPS: Final = """\
- collect: the assistant asks for fields until it has them, and gives one up after asking three times or "maxAsks"; \
an "if" with "known" tells whether it is there. "prompt" says how to ask; \
"question", if set, is sent word for word the first time. "branches" are ways out, judged on the customer's answer.
- prompt: the assistant says something in its own words and the flow goes on without an answer. \
To get an answer, collect a field.
- say: this very text is sent, and the flow goes on. {{data.FIELD}} in it becomes the value of that field.
- do: an action runs. "onFail" is where to go if it fails.
- wait: the flow pauses. "else" is where to go when the customer writes meanwhile; \
without it the flow waits on. A branch here has "if", never "when".
- waitEvent: the flow pauses until an event is reported, at most "upTo"; "else" is where to go if it is not.
- if: "then" when the condition holds, "else" when not; without "else" the flow is over when not."""

_RULES: Final = f"""\
- Most of it is null. "while", "anchor", "collect" of the flow, "clearOnStart", "onEnd", "instructions", \
"label" and "if" of a trigger are null unless the request speaks of it. Mostly one trigger is enough.
- The steps run in the order of the list: "then" is null for the next step, and is set only to go elsewhere.
- Every target is "end", the id of a step of this flow, {{"step": ID, "clear": [FIELDS]}} \
or {{"flow": ID}} with one of the other flows, which ends this one. A step is never named as {{"flow": ID}}.
- Ids are short, in kebab case and English. No two steps have the same id, and none is called "end". \
The flow's own id is none of those that are taken.
- Each path ends: it runs off the last step, goes to "end" or to another flow. A step that no path reaches is wrong.
- A way back to an earlier step clears the fields that are to be asked again; what is known is not asked. \
An "if" that leads back has an "else" as well. Nothing goes round without the customer's word or a wait.
- A collect step has a "prompt" or a "question", unless its field is marked as one that knows how to ask. \
"maxAsks" is null, or a whole number from 1.
- A text names a field only where an earlier step has asked for it and an "if" with "known" has let the flow pass: \
a field may have been given up.
- A duration is a number and s, m, h or d, and nothing else: {EXAMPLES}.
- "equals" compares with a fixed value, never with {{{{data.FIELD}}}}; whether there is any value is for "known". \
A value in "with" has the parameter's type; {{{{data.FIELD}}}} makes text only.
- Name only fields, actions, events, conditions and flows that are listed. \
What the request needs beyond them is left out; invent no names.
- What an action can do is done by a "do" step with that action, not by a text that says so.
- Do what was asked and no more: few steps are good."""

_ABOUT_EXAMPLE: Final = "For another business, with names that you do not have:"

GUIDE: Final = joined(
    (
        section("Role", _ROLE),
        section("How a flow begins", _BEGINS),
        section("Kinds of steps", _STEPS),
        section("Rules", _RULES),
        section("Example", f"{_ABOUT_EXAMPLE}\n{literal(EXAMPLE)}"),
    )
)
"""The system message of every drafting call."""
