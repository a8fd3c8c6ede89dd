"""The OpenAPI document is complete and true: schemathesis calls what it describes, and finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryDirectory

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.generation.case import Case
from schemathesis.python.asgi import shutdown_lifespans

from falai.channel import WebhookChannel
from falai.host import Host
from falai.web import WebSettings, create_app
from falai.web.access import SCOPES, Keys
from falai.web.access.tokens import new_token
from web.api.stage import desk

_FOLDER = TemporaryDirectory()
_CHANNEL = WebhookChannel("https://example.com/hook", secret="a-secret-of-sixteen-bytes-or-more")
_HOST = Host(desk(), f"{_FOLDER.name}/web.db", channel={"webhook": _CHANNEL})
_TOKEN, _ROW = new_token(name="test", tenant="default", scopes=SCOPES, now_ms=0)
_KEYS = Keys(lambda: _HOST.ledger, _HOST.agent.plan.name, own=(_ROW,))
_WEB = WebSettings(hosts=["testserver"], rate="1000000 in 1m")
_APP = create_app(_HOST, settings=_WEB, lifespan=True, keys=_KEYS)
schema = schemathesis.openapi.from_dict(_APP.openapi())
schema.app = _APP
schema.config.max_stream_events = 1
schema.config.generation.with_security_parameters = False  # each call has the token; the checks leave it out themselves


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    shutdown_lifespans()
    _FOLDER.cleanup()


@pytest.mark.property
@schema.parametrize()
@settings(max_examples=settings.default.max_examples // 6, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case: Case) -> None:
    """Every answer has a status, a type and a form that the document names; what is wrong is refused; nothing is a 500."""
    case.call_and_validate(headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=20)
