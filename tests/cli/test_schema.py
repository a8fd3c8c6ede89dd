"""`falai schema`: the JSON Schema of flow documents for editors, and the closed one for models."""

from __future__ import annotations

import json
from pathlib import Path

from cli.program import command
from falai.flow.editorschema import document_schema
from falai.flow.registries import read_registries
from falai.flow.specschema import flow_spec_schema

NAMES = {"fields": {"name": {"type": "string"}}, "actions": {"tell": {"parameters": {}}}, "flows": ["lead"]}


def _agent(folder: Path) -> Path:
    path = folder / "agent.json"
    path.write_text(json.dumps({**NAMES, "flows": [{"id": "lead", "steps": []}]}))
    return path


def test_the_schema_for_editors():
    """Without an agent, that of any document."""
    done = command("schema")
    assert (done.code, json.loads(done.out)) == (0, document_schema())


def test_the_schema_with_the_names_of_an_agent(tmp_path: Path):
    """With one, its names are listed where they may stand."""
    said = json.loads(command("schema", "--agent", _agent(tmp_path)).out)
    assert said == document_schema(read_registries(NAMES)[0])
    assert said["$defs"]["slugs"]["items"] == {"enum": ["name"]}


def test_the_closed_schema(tmp_path: Path):
    """The response schema by which a model writes a flow (S-49), in the order of its properties (S-50)."""
    done = command("schema", "--closed", "--agent", _agent(tmp_path))
    assert json.dumps(json.loads(done.out)) == json.dumps(flow_spec_schema(NAMES))


def test_an_agent_that_is_none(tmp_path: Path):
    """Exit code 2, in words."""
    path = tmp_path / "a.json"
    path.write_text('{"id": "a", "steps": []}')
    done = command("schema", "--agent", path)
    assert (done.code, "is no agent" in done.err) == (2, True)
