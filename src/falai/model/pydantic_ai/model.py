"""The adapter as a `Model`: its options, and what becomes of an attempt that failed (M-18 to M-20)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import WeakKeyDictionary

from falai.errors import ProviderError
from falai.model.failures import classify
from falai.model.names import check_name, key_of, missing_key
from falai.model.port import ModelChunk, ModelReply, ModelRequest
from falai.model.pydantic_ai.attempts import Attempts, Pace

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Upstream

    from falai.model.pydantic_ai.line import Line

__all__ = ["Effort", "Options", "PydanticAIModel"]

Effort = Literal["none", "low", "medium", "high", "max"]
_EFFORTS: Final = ("none", "low", "medium", "high", "max")
_SECONDS: Final = 60.0
_OUTPUT_TOKENS: Final = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What all models behind one adapter share."""

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    http_client: Any = None
    timeout: float = _SECONDS
    max_output_tokens: int = _OUTPUT_TOKENS
    effort: Effort | None = None
    json_with_tools: Literal["response_format", "prompt"] = "response_format"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)  # headers may hold a key


class PydanticAIModel:
    """A model by name (`"openai:gpt-5-mini"`), or a model object of pydantic-ai.

    `base_url` is another address of the provider; with it `openai:` means chat completions at any
    server that speaks them, and the key may be left out. A key comes from `api_key`, else from the
    provider's environment variable; one that is missing shows at the first call, as a failure of
    kind `auth`. `http_client` (an `httpx2.AsyncClient`) carries the requests instead of one made here.

    `timeout` is how many seconds the provider may be silent, before the first byte and between two;
    a reply that keeps coming may last (0 or `None`: 60). `retries` counts the attempts after the
    first, each after a growing random pause or after what the provider states (M-20). `backup_models`
    are names of the same provider, asked in order when the first one is overloaded, throttled or
    unknown there. `pace` replaces the time and the chance of all that in tests.

    `max_output_tokens` is the limit of a reply where a call states none; thinking that was asked for
    comes on top. `effort` is how much the model thinks; without it nothing is said about it, except
    that Anthropic's and Z.ai's do not (M-22.7). `json_with_tools="prompt"` is for models that call no
    tools while their answer is bound to a schema (M-22.3). `settings` are model settings of
    pydantic-ai, as `temperature`, `top_p`, `stop_sequences` or `extra_headers`.

    Raises `ValueError` for a name that is unknown and an option that cannot be, and `ImportError`
    with the command to run for an extra that is not installed.
    """

    def __init__(
        self,
        model: str | Upstream,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        http_client: Any = None,
        timeout: float | None = _SECONDS,
        retries: int = 3,
        backup_models: Sequence[str] = (),
        max_output_tokens: int = _OUTPUT_TOKENS,
        effort: Effort | None = None,
        json_with_tools: Literal["response_format", "prompt"] = "response_format",
        settings: Mapping[str, Any] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._models = _names(model, backup_models, base_url)
        self._options = Options(
            base_url=base_url,
            api_key=api_key,
            http_client=http_client,
            timeout=timeout or _SECONDS,
            max_output_tokens=max_output_tokens,
            effort=effort,
            json_with_tools=json_with_tools,
            settings=dict(settings or {}),
        )
        self._retries = retries
        _check(self._options, retries)
        self._pace = pace or Pace()
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Line]] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        return self._name(0)

    @property
    def missing_key(self) -> str | None:
        """The environment variable for want of which the first call would fail, if so."""
        model, given = self._models[0], self._options.api_key
        return missing_key(model, self._options.base_url) if isinstance(model, str) and given is None else None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The whole reply. Raises `ProviderError`, and only that."""
        attempts = self._attempts()
        while True:
            try:
                line = await self._line(attempts.model)
                return await line.complete(request)
            except Exception as error:  # noqa: BLE001  # a library may raise anything
                failure = self._failure(attempts.model, error)
            await attempts.after(failure)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply in pieces. Raises `ProviderError`, and only that; after a piece there is no other attempt."""
        attempts = self._attempts()
        while True:
            passed_on = False
            try:
                line = await self._line(attempts.model)
                async with aclosing(line.stream(request)) as chunks:
                    async for chunk in chunks:
                        passed_on = True
                        yield chunk
            except Exception as error:  # noqa: BLE001  # a library may raise anything
                failure = self._failure(attempts.model, error)
            else:
                return
            if passed_on:
                raise failure
            await attempts.after(failure)

    async def aclose(self) -> None:
        """Closes the connections that were made in this event loop; a later call makes new ones."""
        for line in self._lines.pop(asyncio.get_running_loop(), {}).values():
            await line.close()

    def _attempts(self) -> Attempts:
        return Attempts(len(self._models), self._retries, self._pace)

    def _name(self, number: int) -> str:
        model = self._models[number]
        return model if isinstance(model, str) else model.model_id

    async def _line(self, number: int) -> Line:
        """The library's model for this event loop: its connections belong to the loop they were made in."""
        lines = self._lines.setdefault(asyncio.get_running_loop(), {})
        if number not in lines:
            # Loading the library takes seconds: what else the loop has to do goes on meanwhile.
            made = await asyncio.to_thread(_made, self._models[number], self._options)
            lines.setdefault(number, made)  # another call may have been faster; this one has no connections yet
        return lines[number]

    def _failure(self, number: int, error: Exception) -> ProviderError:
        """What an attempt failed with. What nothing names came out of a garbled answer: theirs (M-19.5)."""
        secrets = _secrets(self._models[number], self._options)
        failure = classify(error, self._name(number), now_ms=self._pace.now_ms(), secrets=secrets)
        if failure.kind == "unknown":
            failure.kind = "invalid" if _is_misuse(error) else "overload"
        return failure


def _made(model: str | Upstream, options: Options) -> Line:
    from falai.model.pydantic_ai.line import Line  # heavy: the library takes over a second

    return Line.to(model, options)


def _secrets(model: str | Upstream, options: Options) -> list[str]:
    """The key that the model was made with, and what its own headers hold: a provider may quote them."""
    if isinstance(model, str):
        key = options.api_key or key_of(model)
    else:
        key = getattr(getattr(model.provider, "client", None), "api_key", None)  # of each SDK that shows it
    headers: Mapping[str, Any] = options.settings.get("extra_headers") or {}
    return [secret for secret in (key, *headers.values()) if isinstance(secret, str)]


def _names(model: str | Upstream, backups: Sequence[str], base_url: str | None) -> list[str | Upstream]:
    """The models in the order in which they are asked; the backups under the first one's prefix."""
    if not isinstance(model, str):
        if backups or base_url is not None:
            raise ValueError("[PydanticAIModel] a model of pydantic-ai takes no backup_models and no base_url")
        return [model]
    prefix = model.partition(":")[0]
    found = [model, *(f"{prefix}:{name}" for name in backups)]
    for name in found:
        check_name(name)
    return list(found)


def _check(options: Options, retries: int) -> None:
    """Raises `ValueError`, saying which option is wrong and what to pass (M-19.8)."""
    faults = {
        "api_key is blank: pass the provider's key, or leave it out to take the provider's environment variable": (
            options.api_key is not None and not options.api_key.strip()
        ),
        f"timeout is {options.timeout!r}: pass the seconds that the provider may be silent": options.timeout <= 0,
        f"retries is {retries!r}: pass how many attempts may follow the first, 0 for none": retries < 0,
        f"max_output_tokens is {options.max_output_tokens!r}: pass at least 1": options.max_output_tokens < 1,
        f"effort is {options.effort!r}: pass one of {', '.join(_EFFORTS)}": options.effort not in (None, *_EFFORTS),
        f'json_with_tools is {options.json_with_tools!r}: pass "response_format" or "prompt"': (
            options.json_with_tools not in ("response_format", "prompt")
        ),
    }
    for fault, found in faults.items():
        if found:
            raise ValueError(f"[PydanticAIModel] {fault}")


def _is_misuse(error: BaseException) -> bool:
    """Whether the library refused to ask: a setting or a schema that the model cannot take."""
    return any(cls.__name__ == "UserError" for cls in type(error).__mro__)
