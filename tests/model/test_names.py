"""Model names are checked where an agent is built, and nothing heavy is imported for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import falai.model
from falai.model import LexicalModel, PydanticAIModel, resolve_model
from falai.model.names import PREFIXES, check_name
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


def test_a_base_url_needs_a_provider_that_takes_one() -> None:
    """Every other server that speaks OpenAI's language is reached as `openai:`."""
    check_name("openai:any", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(ValueError, match=r'"openai:claude"'):
        resolve_model("anthropic:claude", base_url="http://127.0.0.1:1/v1")


def test_a_missing_extra_names_the_command() -> None:
    """Found before anything is called. (The extra of mistral is not among the project's own.)"""
    with pytest.raises(ImportError, match=r"needs the package mistralai: run pip install") as caught:
        resolve_model("mistral:large")
    assert "mistral" in str(caught.value)


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
