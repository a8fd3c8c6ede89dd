"""The model that a command line names, and letting go of it."""

from __future__ import annotations

from falai.cli.loading import LoadError
from falai.model.names import resolve_model
from falai.model.port import Model

__all__ = ["close_model", "named_model"]


def named_model(name: str | None, base_url: str | None) -> Model | None:
    """The model of `--model` and `--base-url`; `None` when none is named. Raises `LoadError`."""
    if name is None:
        if base_url is not None:
            raise LoadError("--base-url says where, and --model what: name a model, such as --model openai:my-model")
        return None
    try:
        return resolve_model(name, base_url=base_url)
    except (ValueError, TypeError, ImportError) as error:
        raise LoadError(str(error)) from error


async def close_model(model: object) -> None:
    """Lets go of connections, if the model keeps any: a port need not."""
    aclose = getattr(model, "aclose", None)
    if aclose is not None:
        await aclose()
