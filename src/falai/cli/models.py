"""The model that a command line names, and letting go of it."""

from __future__ import annotations

from falai.cli.loading import LoadError
from falai.model.names import resolve_model
from falai.model.port import Model

__all__ = ["close_model", "named_model", "without_key"]


def named_model(name: str | None, base_url: str | None) -> Model | None:
    """The model of `--model` and `--base-url`; `None` when none is named. Raises `LoadError`."""
    if name is None:
        if base_url is not None:
            raise LoadError("--base-url says where, and --model what: name a model, such as --model openai:my-model")
        return None
    try:
        model = resolve_model(name, base_url=base_url)
    except (ValueError, TypeError, ImportError) as error:
        raise LoadError(str(error)) from error
    if why := without_key(model):
        raise LoadError(why)
    return model


def without_key(model: Model) -> str | None:
    """What to do when the model's first call would fail for want of a key; `None` when it would not."""
    variable: str | None = getattr(model, "missing_key", None)  # only the adapter's models need one
    if variable is None:
        return None
    return (
        f"the model {model.name} needs a key, and the environment variable {variable} is not set: "
        "set it to your key. A chat also runs with --model lexical, which needs none"
    )


async def close_model(model: object) -> None:
    """Lets go of connections, if the model keeps any: a port need not."""
    aclose = getattr(model, "aclose", None)
    if aclose is not None:
        await aclose()
