"""Model names are checked where an agent is built, and nothing heavy is imported for it."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest

import falai.model
from falai.model import LexicalModel, PydanticAIModel, resolve_model
from falai.model.names import KEYS, PREFIXES, check_name, key_of, missing_key
from falai.testing import ScriptedModel


def test_a_name_gives_a_model_and_a_model_stays() -> None:
    """`lexical`, a provider's name, a port of one's own."""
    own = ScriptedModel({})
    assert isinstance(resolve_model("lexical"), LexicalModel)
    assert isinstance(resolve_model("openai:gpt-5-mini"), PydanticAIModel)
    assert resolve_model("openai:gpt-5-mini").name == "openai:gpt-5-mini"
    assert resolve_model(own) is own


@pytest.mark.parametrize("name", ["gpt-5", "openai", "openai:", "openai: ", "opanai:gpt-5", "", ":x", "lexical:pt"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    """The message names what can be written instead."""
    with pytest.raises(ValueError, match="unknown model") as caught:
        resolve_model(name)
    assert all(f"{prefix}:" in str(caught.value) for prefix in PREFIXES)
    assert '"lexical"' in str(caught.value)


def test_the_lexical_model_takes_no_base_url() -> None:
    """Whoever gives one means a server, and shall not wonder why it is never called."""
    with pytest.raises(ValueError, match="calls no server"):
        resolve_model("lexical", base_url="http://127.0.0.1:8080/v1")


def test_a_name_of_openrouter_says_whose_model_it_is() -> None:
    """Without the upstream the provider would refuse each call."""
    check_name("openrouter:openai/gpt-5-mini")
    with pytest.raises(ValueError, match=r'write "openrouter:openai/gpt-5-mini"'):
        check_name("openrouter:gpt-5-mini")


def test_a_missing_extra_names_the_command(tmp_path: Path) -> None:
    """Found before anything is called: here in an interpreter that has falai and msgspec alone."""
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    code = (
        f"import sys; sys.path[:0] = {[str(Path(falai.__file__).parents[1]), str(tmp_path)]!r}\n"
        "from falai.model.names import check_name\n"
        "for name in ('anthropic:claude', 'mistral:large', 'google:gemini'):\n"
        "    try: check_name(name)\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert [line.partition(": run ")[2] for line in done.stdout.splitlines()] == [
        'pip install "falai[anthropic]"', 'pip install "falai[openai]"', 'pip install "falai[google]"',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "base_url", "variable"),
    [
        ("openai:x", None, "OPENAI_API_KEY"),
        ("openai:x", "http://127.0.0.1:1/v1", None),
        ("openai-responses:x", None, "OPENAI_API_KEY"),
        ("anthropic:x", None, "ANTHROPIC_API_KEY"),
        ("anthropic:x", "http://127.0.0.1:1", "ANTHROPIC_API_KEY"),
        ("openrouter:a/b", "http://127.0.0.1:1", "OPENROUTER_API_KEY"),
        ("groq:x", None, "GROQ_API_KEY"),
        ("groq:x", "http://127.0.0.1:1", None),
        ("ollama:x", None, None),
    ],
)
def test_the_key_that_a_model_would_miss(
    name: str, base_url: str | None, variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name and address; each prefix has its variable, and one that is set misses none."""
    assert KEYS.keys() == PREFIXES.keys()
    for other in ("OPENAI_BASE_URL", *chain(*KEYS.values())):
        monkeypatch.delenv(other, raising=False)
    assert missing_key(name, base_url) == variable
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert missing_key("openai:x") is None
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert (missing_key("google:x"), key_of("google:x")) == (None, "k")
    monkeypatch.setenv(variable or "OPENAI_API_KEY", "k")
    assert missing_key(name, base_url) is None


@pytest.mark.parametrize("given", [None, 7, object(), LexicalModel])
def test_what_is_no_model_is_refused(given: Any) -> None:
    """A class is none either: it has the methods, but no instance to call them on."""
    with pytest.raises(TypeError, match="pass a model's name"):
        resolve_model(given)


def test_a_model_of_pydantic_ai_is_wrapped() -> None:
    """Also its offline fakes."""
    test = pytest.importorskip("pydantic_ai.models.test")
    assert isinstance(resolve_model(test.TestModel()), PydanticAIModel)


def test_public_names_load_when_they_are_asked_for() -> None:
    """Each name of the room is there; another is an AttributeError."""
    assert all(getattr(falai.model, name) is not None for name in falai.model.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        falai.model.nothing  # noqa: B018


def test_resolving_imports_nothing_heavy() -> None:
    """A name is checked without the library behind it."""
    code = (
        "import sys; from falai.model import resolve_model; resolve_model('openai:gpt-5-mini'); resolve_model('lexical');"
        "print(sorted({'pydantic', 'pydantic_ai', 'openai', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
