"""Agents with short timers, for tests on a real clock."""

from __future__ import annotations

from falai import Agent, Flow, If, OnMessage, OnSilence, Say, Wait

_always = {"known": []}

agent = Agent(
    name="Tick",
    model="lexical",
    idle="silent",
    flows=[
        Flow(
            "wait",
            on=[OnMessage("wants a reminder", repeat="always")],
            steps=[
                Say("soon", "I will come back."),
                Wait("pause", "0.3s"),
                If("now", _always),  # a short wait in front of a text would only delay it
                Say("back", "Here I am again."),
            ],
        ),
        Flow("quiet", on=[OnSilence("2d")], steps=[Say("there", "Are you there?")]),
    ],
)
