"""`falai schema`: the JSON Schema of flow documents, for editors, or the closed one for a model."""

from __future__ import annotations

import json
from typing import Any

from falai.cli.flows.sources import load_owner
from falai.flow.editorschema import document_schema
from falai.flow.registries import Registries
from falai.flow.specschema import flow_spec_schema

__all__ = ["run_schema"]


def run_schema(agent: str | None, *, closed: bool) -> None:
    """Prints the schema. Raises `LoadError` when the agent cannot be used."""
    names = None if agent is None else load_owner(agent).registries
    schema: dict[str, Any] = flow_spec_schema(names or Registries()) if closed else document_schema(names)
    print(json.dumps(schema, ensure_ascii=False, indent=2))
