"""What is typed behind a slash, and input that is wrong: plain words, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

from cli.program import AGENTS, chat

COMMANDS = [
    ("/skpi 2d", "There is no command /skpi. Did you mean /skip?"),
    ("/dance", "There is no command /dance. /help lists what there is."),
    ("/", "There is no command /"),
    ("/skip tomorrow", "How far? A duration is written 30s, 5m, 24h or 3d. Like this: /skip 2d"),
    ("/skip", "How far?"),
    ("/skip -1d", "How far?"),
    ("/skip 9999999d", "That is too far: the clock goes to the year 9000."),
    ("/event", "Which event? Like this: /event NAME {json}"),
    ("/event visit_done {", "The payload is not JSON:"),
    ("/why", "Nothing has happened yet."),
    ("/runs", "No flow is under way, and no timer is set."),
    ("/data", "No field is known."),
    ("/drop", "There is nothing that waits for an answer."),
    ("/new", "This conversation is new."),
    ("/help", "/skip 2d            move the clock ahead; timers on the way go off"),
    ("/HELP", "Events of this agent: visit_done."),
    ("/event rain", "The agent does not know the event rain; it knows visit_done."),
]


def test_commands_answer_in_plain_words(tmp_path: Path) -> None:
    """Each command, in a conversation in which nothing has happened."""
    done = chat(tmp_path / "chat.sqlite", [line for line, _ in COMMANDS])
    assert (done.code, done.err) == (0, "")
    answers = done.out.split("you > ")[1:]
    assert [words for (_, words), answer in zip(COMMANDS, answers, strict=True) if words not in answer] == []


def test_why_tells_a_turn(tmp_path: Path) -> None:
    """What began, what each step did, what was noted: in words, with the places."""
    done = chat(tmp_path / "chat.sqlite", ["I'd like to book a cleaning", "/why"])
    shown = done.out.rpartition("/why")[2]
    assert 'you wrote "I\'d like to book a cleaning"; one call to the model.' in shown
    assert "  book         The flow began." in shown
    assert "  book / when  The step asked with its own fixed wording." in shown
    assert '  service      Now "cleaning", read in the message.' in shown


def test_two_slashes_are_a_message(tmp_path: Path) -> None:
    """A message that begins with a slash can be said."""
    done = chat(tmp_path / "chat.sqlite", ["//hi", "/why"])
    assert 'you wrote "/hi"' in done.out


def test_a_silenced_assistant_keeps_silent_until_released(tmp_path: Path) -> None:
    """The closed gate lasts over a restart; the flow that was asking goes on when it opens."""
    store = tmp_path / "chat.sqlite"
    assert len(chat(store, ["book a cleaning", "/hold a colleague types", "hello?"]).said("Sofia")) == 1
    silent = chat(store, ["hello again", "/why"])
    assert "The assistant says nothing to this; /why tells why." in silent.out
    assert "The assistant was silenced (a colleague types)." in silent.out
    assert chat(store, ["/release", "2099-03-02 at 3pm"]).said("Sofia")[-1] == "What is your name?"


def test_what_is_typed_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Escape sequences and markup come out as text."""
    done = chat(tmp_path / "chat.sqlite", ["\x1b[2Jhi [bold red]you[/] \x07", "/why"])
    assert "\x1b" not in done.out
    assert "\x07" not in done.out
    assert "[bold red]you[/]" in done.out


def test_the_authors_own_mistake_loses_nothing(tmp_path: Path) -> None:
    """A predicate raises: the words name it, the message waits, and an empty line tries again."""
    store, agent = tmp_path / "chat.sqlite", AGENTS / "fragile.py"
    (tmp_path / "broken").touch()
    done = chat(store, ["hello", ""], agent)
    assert done.out.count("The agent's own code raised LookupError: the table is gone") == 2
    (tmp_path / "broken").unlink()
    assert chat(store, [], agent).said("Glass") == ["All is well."]


def test_what_waits_can_be_dropped(tmp_path: Path) -> None:
    """A message that cannot be answered need not stay in the way."""
    store, agent = tmp_path / "chat.sqlite", AGENTS / "fragile.py"
    (tmp_path / "broken").touch()
    assert "1 dropped." in chat(store, ["hello", "/drop"], agent).out
    (tmp_path / "broken").unlink()
    assert chat(store, [], agent).said("Glass") == []
