"""The page's files, as they are in the wheel: each with its type, an ETag, and compressed for who takes that."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from falai.web.access.headers import page_policy
from falai.web.playground.pictures import stylesheet
from falai.web.problems import ProblemError

__all__ = ["lean", "serve_file"]

_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
}
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_FOR_READERS: Final = re.compile(r"^\s*//.*\n|^\s+", re.MULTILINE)
_AROUND: Final = re.compile(r"\s*([{};,])\s*|(?<=:)\s+")
_WITHIN: Final = re.compile(r"""(?<=\{) (?=[\w.\["#])|(?<=[\w)\]}"`]) (?=\})|(?<=\w) (?== )|(?<=\w =) """)
_IMPORT_MAP: Final = re.compile(r'<script type="importmap"[^>]*>(.*?)</script>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    small: bytes
    tag: str
    headers: Mapping[str, str]


async def serve_file(request: Request) -> Response:
    """A file of the page; `304` for one that the browser has. Its ETag is a weak one: compressed it is the same file.

    Raises `ProblemError` for what is none.
    """
    name = request.path_params.get("path") or "index.html"
    file = _files().get(name)
    if file is None:
        raise ProblemError(404, "not-found", "The page has no such file.")
    if file.tag in (given.strip().removeprefix("W/") for given in request.headers.get("if-none-match", "").split(",")):
        return Response(status_code=304, headers={**file.headers, "ETag": f"W/{file.tag}"})
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        headers = {**file.headers, "ETag": f"W/{file.tag}", "Content-Encoding": "gzip"}
        return Response(file.small, headers=headers)
    return Response(file.content, headers={**file.headers, "ETag": f"W/{file.tag}"})


@cache
def _files() -> Mapping[str, _File]:
    """All of them by their path; they are few and small."""
    found = dict(_contents(files("falai.web.playground").joinpath("page"), ""))
    found["graph.css"] = stylesheet().encode()
    return {name: _file(name, content) for name, content in found.items()}


def _contents(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        name = prefix + entry.name
        if entry.is_dir():
            found += _contents(entry, f"{name}/")
        elif name.rpartition(".")[2] in _TYPES:
            found.append((name, lean(name, entry.read_bytes())))
    return found


def lean(name: str, content: bytes) -> bytes:
    """Without comments, indentation, and the space within braces and around "=": for readers, and a fifth of the weight.

    What others made goes out as it is.
    """
    if name.startswith("vendor/") or not name.endswith((".js", ".css")):
        return content
    text = _FOR_READERS.sub("", _COMMENT.sub("", content.decode()))
    return (_AROUND.sub(r"\1", text) if name.endswith(".css") else _WITHIN.sub("", text)).encode()


def _file(name: str, content: bytes) -> _File:
    ending = name.rpartition(".")[2]
    headers = {"Content-Type": _TYPES[ending], "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if ending == "html":
        headers["Content-Security-Policy"] = page_policy(*_IMPORT_MAP.findall(content.decode()))
    return _File(content, gzip.compress(content, mtime=0), f'"{sha256(content).hexdigest()[:20]}"', headers)


def _takes_gzip(accepted: str) -> bool:
    for one in accepted.split(","):
        coding, _, weight = one.strip().partition(";")
        if coding.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
