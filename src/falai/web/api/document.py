"""The OpenAPI document, made whole: what a framework does not say by itself."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import ConfigDict, Field, TypeAdapter

from falai.web.api.flows import Graph
from falai.web.mistakes import Wire

__all__ = ["MistakeOut", "Problem", "documented"]

_ABOUT = """\
Conversations of one agent. Each path needs a bearer token, whose tenant says whose sessions and whose scopes say
what may be done; webhooks prove themselves by the vendor's signature, and health needs nothing.

A message is durable once it is taken in, and its turn is played once in effect: send it again with the same `id`
whenever an answer did not come. Every refusal is a problem document (RFC 9457) with a `code`.

Chat widgets may use a WebSocket at `/v1/sessions/{session_id}/socket`, with the frames of `stream`.
"""


class MistakeOut(Wire):
    """One mistake in a request: where, what was found, what to do."""

    path: str
    code: str
    message: str
    hint: str


class Problem(Wire):
    """Why a request was refused (RFC 9457). Programs switch on `code`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:falai:problem:invalid", "title": "The request has mistakes", "status": 422,
                    "detail": "The request has one mistake.", "code": "invalid",
                    "errors": [
                        {"path": "txet", "code": "unknown-key", "message": "there is no such key",
                         "hint": 'Did you mean "text"? The keys are text, id'}
                    ],
                }
            ]
        }
    )  # fmt: skip

    type: str
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    code: str
    errors: list[MistakeOut] | None = None


def documented(app: FastAPI) -> None:
    """The application's document has the problems' schema, and no refusal that cannot come."""
    app.description = _ABOUT
    made = app.openapi

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = made()
            schemas: dict[str, Any] = found["components"]["schemas"]
            for model in (Problem, Graph):
                own = TypeAdapter(model).json_schema(ref_template="#/components/schemas/{model}")
                schemas.update(own.pop("$defs", {}))
                schemas[model.__name__] = own
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            app.openapi_schema = found
        return app.openapi_schema or {}

    app.openapi = whole  # type: ignore[method-assign]  # the way that the framework has for it
