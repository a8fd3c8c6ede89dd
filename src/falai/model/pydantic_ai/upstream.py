"""The library's own model for a name: its provider, its address, its key (M-22).

Groq and Mistral are reached by their OpenAI-compatible addresses: one package less to install, and
one streaming grammar less to trust. What their servers cannot do is written down here.
"""

from __future__ import annotations

import os
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model as Upstream
from pydantic_ai.models import infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers import infer_provider_class

from falai.errors import ProviderError, ProviderErrorKind
from falai.model.names import KEYS, key_of
from falai.model.pydantic_ai.model import Options

__all__ = ["upstream", "without_tags"]

_NO_TAGS: Final = ("<no thoughts in tags>", "</no thoughts in tags>")
_LOOK_FOR_TAGS: Final = frozenset({"OpenAIChatModel", "GroqModel", "HuggingFaceModel", "XaiModel"})
_OLLAMA: Final = "http://127.0.0.1:11434/v1"


@dataclass(frozen=True, slots=True)
class _Compatible:
    """A service that speaks OpenAI's chat completions, and in what its servers differ."""

    base_url: str | None
    profile: dict[str, Any]


_ANY: Final = _Compatible(None, {})
_COMPATIBLE: Final = {
    "openai": _ANY,
    "openai-chat": _ANY,
    # Groq enforces no schema in a stream or beside tools, so the answer travels in a tool there.
    "groq": _Compatible(
        "https://api.groq.com/openai/v1",
        {"supports_json_schema_output": False, "openai_supports_strict_tool_definition": False},
    ),
    "mistral": _Compatible(
        "https://api.mistral.ai/v1",
        {"tool_call_id_length": 9, "openai_chat_supports_max_completion_tokens": False},
    ),
}


def upstream(model: str, options: Options) -> Upstream:
    """The library's model, with the SDK's own retries off: they would try twice more, unseen.

    Raises `ProviderError`: of kind `auth` for a key that is missing.
    """
    prefix, _, name = model.partition(":")
    try:
        found = _compatible(prefix, name, options) or infer_model(model, lambda prefix: _provider(prefix, options))
    except UserError as error:
        kind: ProviderErrorKind = "auth" if "_API_KEY" in str(error) else "invalid"
        raise ProviderError(str(error), provider=model, kind=kind) from error
    _ignore_tags(found)
    client: Any = found.provider.client if found.provider is not None else None
    if hasattr(client, "max_retries"):  # Google's has no retries unless asked
        client.max_retries = 0
    return found


def without_tags(model: Upstream) -> Upstream:
    """A host's model as one that looks for no thoughts in tags; the host's own object stays as it is."""
    twin = copy(model)
    if isinstance(twin, WrapperModel):
        twin.wrapped = without_tags(twin.wrapped)
    elif not _LOOK_FOR_TAGS.isdisjoint(cls.__name__ for cls in type(twin).__mro__):
        _ignore_tags(twin)
    else:
        return model  # it may count on being itself
    return twin


def _ignore_tags(model: Upstream) -> None:
    """Thoughts in tags are taken out of the text here (`reading`): the library sees a tag that travels in a piece of
    its own and no other, and takes a customer's words for one."""
    model.profile = cast(Any, {**model.profile, "thinking_tags": _NO_TAGS})


def _compatible(prefix: str, name: str, options: Options) -> Upstream | None:
    """A model behind OpenAI's chat protocol; `None` where the library has a class of its own for it."""
    service = _COMPATIBLE.get(prefix)
    base_url = options.base_url or (service.base_url if service else None)
    if service is None or base_url is None:
        return None
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    key = options.api_key or key_of(f"{prefix}:{name}")
    if key is None and options.base_url is None:
        raise UserError(f"Set the `{KEYS[prefix][0]}` environment variable or pass `api_key`")
    provider = OpenAICompatibleProvider(
        prefix if service.base_url else "compatible",  # not "openai": its prices are not this server's
        base_url=base_url,
        api_key=key,
        http_client=options.http_client,
    )
    return OpenAIChatModel(name, provider=provider, profile=cast(Any, service.profile))


def _provider(prefix: str, options: Options) -> Any:
    given = {"api_key": options.api_key, "http_client": options.http_client}
    known: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    base_url = options.base_url or (os.environ.get("OLLAMA_BASE_URL", _OLLAMA) if prefix == "ollama" else None)
    kind: Any = infer_provider_class(prefix)
    if base_url is None:
        return kind(**known)
    if prefix not in ("deepseek", "openrouter"):
        return kind(base_url=base_url, **known)
    provider = kind(**known)  # these take no address, but their client does
    provider.client.base_url = base_url
    return provider
