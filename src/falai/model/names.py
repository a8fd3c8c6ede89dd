"""Model names: `"openai:gpt-5-mini"`, `"lexical"`. What can be wrong with one is found at construction.

Nothing heavy is imported for that: whether an extra is installed, the import system knows.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, Final, cast

from falai.model.port import Model

__all__ = ["KEYS", "PREFIXES", "check_name", "key_of", "missing_key", "resolve_model"]

PREFIXES: Final = {
    "openai": "openai",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "openrouter": "openai",
    "deepseek": "openai",
    "zai": "openai",
    "ollama": "openai",
    "anthropic": "anthropic",
    "google": "google.genai",
    "groq": "openai",
    "mistral": "openai",
}
"""The provider's prefix, and the package that has to be installed for it."""

KEYS: Final = {
    "openai": ("OPENAI_API_KEY",),
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "zai": ("ZAI_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
}
"""The environment variables that hold a provider's key, by prefix; the first one that is set counts."""

_KEYLESS: Final = frozenset({"openai", "openai-chat", "openai-responses", "groq", "mistral"})
"""Prefixes that a server of one's own may be reached by without a key."""

_EXTRAS: Final = {
    "openai": 'pip install "falai[openai]"',
    "anthropic": 'pip install "falai[anthropic]"',
    "google.genai": 'pip install "falai[google]"',
}


def resolve_model(model: str | Model | Any, *, base_url: str | None = None) -> Model:
    """The model behind a name; a `Model` stays as it is, a model of pydantic-ai is wrapped, and a list
    of any of these is a `FallbackModel`.

    A base URL is another address of the provider; with one, `openai:` means chat completions at any
    server that speaks them. Raises `ValueError` for a name that is unknown or incomplete, naming the
    known ones, and for a base URL where none can be; `ImportError` with the command to run when the
    provider's extra is not installed; `TypeError` for what is no model.
    """
    if model == "lexical":
        if base_url is not None:
            raise ValueError("the lexical model calls no server: leave the base URL out, or name another model")
        from falai.model.lexical import LexicalModel  # only where it is used

        return LexicalModel()
    if isinstance(model, list | tuple):
        if base_url is not None:
            raise ValueError("a list of models takes no base URL: resolve each of them with its own")
        from falai.model.fallback import FallbackModel  # it resolves its models here

        return FallbackModel(cast(Any, model))
    if isinstance(model, str) or _is_upstream(model):
        from falai.model.pydantic_ai import PydanticAIModel  # only where it is used

        return PydanticAIModel(cast(Any, model), base_url=base_url)
    if isinstance(model, type) or not all(callable(getattr(model, part, None)) for part in ("complete", "stream")):
        raise TypeError(f"model is {model!r}: pass a model's name, a falai.model.Model or one of pydantic-ai")
    return cast(Model, model)


def check_name(model: str) -> None:
    """Raises what `resolve_model` promises for a provider's name."""
    prefix, colon, name = model.partition(":")
    if prefix not in PREFIXES or not colon or not name.strip():
        known = ", ".join(f"{known}:…" for known in PREFIXES)
        raise ValueError(
            f'unknown model "{model}": write "lexical", or one of {known} with the model\'s name behind it'
        )
    if prefix == "openrouter" and "/" not in name:
        raise ValueError(f'"{model}" names no upstream: write "openrouter:openai/{name}", or whose model it is')
    package = PREFIXES[prefix]
    missing = next((part for part in ("pydantic_ai", package) if not _is_installed(part)), None)
    if missing is not None:
        raise ImportError(f'the model "{model}" needs the package {missing}: run {_EXTRAS[package]}')


def key_of(model: str) -> str | None:
    """The key that the environment holds for a model's provider."""
    return next((key for name in KEYS[model.partition(":")[0]] if (key := os.environ.get(name))), None)


def missing_key(model: str, base_url: str | None = None) -> str | None:
    """The environment variable that a model's first call would miss; `None` when it needs no key or there is one."""
    prefix = model.partition(":")[0]
    elsewhere = base_url or (os.environ.get("OPENAI_BASE_URL") if prefix.startswith("openai") else None)
    if prefix == "ollama" or (elsewhere and prefix in _KEYLESS) or key_of(model):
        return None
    return KEYS[prefix][0]


def _is_upstream(model: object) -> bool:
    """Whether this is a model of pydantic-ai, without importing it."""
    return any(f"{cls.__module__}.{cls.__name__}" == "pydantic_ai.models.Model" for cls in type(model).__mro__)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False
