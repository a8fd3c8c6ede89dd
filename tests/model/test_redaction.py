"""What a failure says is without the keys that a provider quotes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import Agent, Flow, Message, OnMessage, Prompt, Start
from falai.errors import ProviderError
from falai.model.failures import classify
from falai.model.fallback import FallbackModel
from falai.model.redaction import without_secrets
from falai.testing import ScriptedModel


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Incorrect API key provided: sk-abc12345.", "Incorrect API key provided: [secret]."),
        ("Incorrect API key provided: sk-proj-****wxyz. See x.", "Incorrect API key provided: [secret]. See x."),
        ("the key sk-ant-api03-AbC_d-9 is off", "the key [secret] is off"),
        ("key gsk_AAAAbbbb1111 is off", "key [secret] is off"),
        ("API key not valid: AIzaSyD-x_1234567890abc", "API key not valid: [secret]"),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer [secret]"),
        ("{'Authorization': 'Bearer abcdefgh'}", "{'Authorization': 'Bearer [secret]'}"),
        ("bad token: bearer AbCdEf123/+=", "bad token: bearer [secret]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [secret]"),
        ("x-api-key: 0123456789abcdef", "x-api-key: [secret]"),
        ('{"api_key": "0123456789abcdef", "n": 1}', '{"api_key": "[secret]", "n": 1}'),
        ('{\\"apiKey\\": \\"0123456789abcdef\\"}', '{\\"apiKey\\": \\"[secret]\\"}'),
        ("GET https://x.example/v1?alt=sse&key=abc123&n=1 failed", "GET https://x.example/v1?alt=sse&key=[secret]&n=1 failed"),
        ("https://x.example/?access_token=abc%20d", "https://x.example/?access_token=[secret]"),
        ("cannot reach https://ana:pa55@x.example/v1", "cannot reach https://[secret]@x.example/v1"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1 expired", "jwt [secret] expired"),
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_goes(text: str, clean: str) -> None:
    """The shape alone tells; the words around it stay, and twice is once."""
    assert without_secrets(text) == clean
    assert without_secrets(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "invalid x-api-key",
        "Set the `OPENAI_API_KEY` environment variable or pass `api_key`",
        "API key not valid. Please pass a valid API key.",
        "Bearer authentication is required; send a bearer token",
        "max_tokens=8192 is more than the model's 4096 tokens",
        "a risk-free, task-oriented sk-learn run",
        "https://x.example:8080/v1/chat is down",
    ],
)
def test_plain_words_stay(text: str) -> None:
    """A person reads what went wrong."""
    assert without_secrets(text) == text


def test_a_known_key_goes_whatever_its_shape() -> None:
    """One of another's; a stand-in as servers without keys take it is an ordinary word."""
    assert without_secrets("no: 5f2e.Zq-77x!", ["5f2e.Zq-77x!"]) == "no: [secret]"
    assert without_secrets("ollama is down", ["ollama"]) == "ollama is down"


@pytest.mark.property
@given(st.text(), st.text(alphabet="abcXYZ019_-", min_size=16), st.text())
def test_no_openai_key_survives(before: str, key: str, after: str) -> None:
    """Wherever it stands."""
    told = without_secrets(f"{before} sk-9{key} {after}")
    assert f"sk-9{key}" not in told


def test_words_and_body_of_a_failure_are_clean() -> None:
    """Of a vendor's exception, and of a `ProviderError` that a host's own port raised."""
    raw = RuntimeError("Incorrect API key provided: sk-live0123456789")
    raw.body = {"error": {"message": "sk-live0123456789 and my0wn.key"}}  # type: ignore[attr-defined]  # as vendors do
    failure = classify(raw, secrets=["my0wn.key"])
    assert (str(failure), failure.body) == (
        "Incorrect API key provided: [secret]",
        '{"error":{"message":"[secret] and [secret]"}}',
    )
    own = ProviderError("Bearer abc123def456", kind="auth", body="?key=abc123def456")
    assert classify(own) is own
    assert (str(own), own.body) == ("Bearer [secret]", "?key=[secret]")


def test_the_kind_is_read_before_the_words_are_cleaned() -> None:
    """What is taken out still counts."""
    assert classify(RuntimeError("x?key=PERMISSION_DENIED")).kind == "auth"
    assert re.search("secret", str(classify(RuntimeError("x?key=PERMISSION_DENIED"))))


@pytest.mark.parametrize("several", [False, True])
async def test_no_call_of_a_turn_tells_a_key(several: bool) -> None:
    """Neither what is on the result nor what goes out, from a host's own port and from a list of models."""
    quoted = ProviderError("Incorrect API key provided: sk-live0123456789", kind="auth", body="Bearer abc123def456")

    def agent(call: str) -> Agent[None]:
        model = ScriptedModel({call: [quoted]})
        flows = [Flow("a", on=[OnMessage("wants a")], steps=[Prompt("s", "Say hello.")])]
        return Agent(name="Ana", model=FallbackModel([model]) if several else model, flows=flows)

    result = await agent("speak").turn("s1", Start("a", key="k1"))
    assert [call.error for call in result.calls] == ["Incorrect API key provided: [secret]"]
    with pytest.raises(ProviderError) as raised:
        await agent("understand").turn("s1", Message("hello"))
    assert (str(raised.value), raised.value.body) == ("Incorrect API key provided: [secret]", "Bearer [secret]")
