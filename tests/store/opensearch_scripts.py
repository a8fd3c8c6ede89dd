"""What the stand-in for OpenSearch lacks: updates by script.

A server in front of it that passes everything on, but carries out `_update` with a script itself, as
OpenSearch does: it reads the document, runs the script, and writes the document if nobody else has
meanwhile, or begins again as often as it was told. It knows one form of script, which is that of the
store; what a real server makes of it is shown by a real server only.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from opensearchpy import AsyncOpenSearch

_UPDATE = re.compile(r"/([^/]+)/_update/([^/]+)")
_SCRIPT = re.compile(
    r"if \(ctx\._source\.(\w+) != params\.(\w+)\) \{ ctx\.op = 'noop'; \} else \{((?: ctx\._source\.\w+ = params\.\w+;)+) \}"
)
_ASSIGNMENT = re.compile(r"ctx\._source\.(\w+) = params\.(\w+);")
_MISSING = {"error": {"type": "document_missing_exception", "root_cause": [{"reason": "missing"}]}, "status": 404}


def connect(url: str, **options: Any) -> AsyncOpenSearch:
    """A client that tries nothing a second time."""
    return AsyncOpenSearch(url.replace("opensearch", "http", 1), max_retries=0, **options)


def run_script(script: dict[str, Any], document: dict[str, Any]) -> bool:
    """Changes the document; whether it did."""
    params = script["params"]
    found = _SCRIPT.fullmatch(script["source"])
    assert script["lang"] == "painless"
    assert found, "not the form of script that is known here"
    if document.get(found[1]) != params[found[2]]:
        return False
    for name, value in _ASSIGNMENT.findall(found[3]):
        document[name] = params[value]
    return True


class ScriptServer:
    """Listens until it is closed; `scripts` holds the text of every script that came."""

    def __init__(self, url: str) -> None:
        front = self
        self.scripts: list[str] = []
        self._behind = urlsplit(url).netloc

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one piece

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                with suppress(ConnectionError, http.client.HTTPException):
                    status, text = front.carry_out(self.command, self.path, body)
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(b"" if self.command == "HEAD" else text)
                    return
                self.close_connection = True

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the names of the standard library

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"opensearch://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def carry_out(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        found = _UPDATE.fullmatch(urlsplit(path).path)
        if found and b'"script"' in body:
            query = parse_qs(urlsplit(path).query)
            return self._update(f"/{found[1]}/_doc/{found[2]}", json.loads(body)["script"], query)
        return self._pass_on(method, path, body)

    def _update(self, path: str, script: dict[str, Any], query: dict[str, list[str]]) -> tuple[int, bytes]:
        self.scripts.append(script["source"])
        status, text = 500, b""
        for _ in range(1 + int(query.get("retry_on_conflict", ["0"])[0])):
            status, text = self._pass_on("GET", path)
            if status == 404:
                missing = b'"found":false' in text
                return (404, json.dumps(_MISSING).encode()) if missing else (status, text)
            found = json.loads(text)
            if not run_script(script, found["_source"]):
                return 200, json.dumps({"result": "noop"}).encode()
            place = f"if_seq_no={found['_seq_no']}&if_primary_term={found['_primary_term']}"
            refresh = query.get("refresh", ["false"])[0]
            status, text = self._pass_on(
                "PUT", f"{path}?{place}&refresh={refresh}", json.dumps(found["_source"]).encode()
            )
            if status != 409:
                break
        return status, text

    def _pass_on(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        line = http.client.HTTPConnection(self._behind, timeout=30)
        try:
            line.request(method, path, body or None, {"Content-Type": "application/json"})
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()
