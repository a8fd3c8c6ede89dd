"""The playground's page as files: what it weighs, what it carries from others, what its words say."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from starlette.requests import Request

import falai
from falai.session.outcomes import ADDED_MESSAGES, LAYER_MESSAGES, OUTCOME_MESSAGES
from falai.web.playground.page import serve_file

PAGE = Path(falai.__file__).parent / "web/playground/page"
LOADED = sorted(path for path in PAGE.rglob("*") if path.suffix in {".html", ".css", ".js", ".svg"})
OURS = [path for path in LOADED if path.parent.name != "vendor"]
CODES = {**OUTCOME_MESSAGES, **ADDED_MESSAGES, **LAYER_MESSAGES}
MADE_BY_THE_SERVER = {"graph.css"}
MOST_BYTES = 40_000


def named(path: Path) -> str:
    return path.relative_to(PAGE).as_posix()


def words(language: str) -> dict[str, str]:
    """The sentences of one language: what stands between the braces is JSON."""
    text = (PAGE / f"text/{language}.js").read_text("utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_what_others_made_is_what_its_list_says():
    """Every vendored file is listed with its SHA-256, and is that file byte for byte."""
    listed = dict(
        re.findall(r"^\| `([^`]+)` .*`([0-9a-f]{64})` \|$", (PAGE / "VENDORED.md").read_text("utf-8"), re.MULTILINE)
    )
    assert {path.name: sha256(path.read_bytes()).hexdigest() for path in (PAGE / "vendor").iterdir()} == listed


async def test_the_page_weighs_at_most_40_kilobytes_compressed():
    """All that a browser loads of it, in both languages, each file as it is served."""
    weights = {name: await served_bytes(name) for name in [*map(named, LOADED), *MADE_BY_THE_SERVER]}
    assert sum(weights.values()) <= MOST_BYTES, weights


async def served_bytes(name: str) -> int:
    """How much goes over the wire for a file of the page."""
    head = [(b"accept-encoding", b"gzip")]
    request = Request({"type": "http", "method": "GET", "headers": head, "path_params": {"path": name}})
    return len((await serve_file(request)).body)


async def test_comments_stay_at_home_and_what_others_made_goes_out_as_it_is():
    """What is served has no comment of ours; of vendored files every byte."""
    for path in LOADED:
        request = Request({"type": "http", "method": "GET", "headers": [], "path_params": {"path": named(path)}})
        served = bytes((await serve_file(request)).body)
        if path.parent.name == "vendor":
            assert served == path.read_bytes()
        elif path.suffix != ".html":
            assert re.search(rb"/\*|^\s*//", served, re.MULTILINE) is None, path


def test_the_page_says_the_same_things_in_both_languages():
    """English and Portuguese have the same keys, the same places for values, and no empty sentence."""
    english, portuguese = words("en"), words("pt")
    assert list(english) == [key for key in portuguese if not key.startswith("outcome.")]
    places = re.compile(r"\{\w+\}")
    for key, sentence in english.items():
        assert sentence.strip(), key
        assert portuguese[key].strip(), key
        assert set(places.findall(sentence)) == set(places.findall(portuguese[key])), key


def test_every_outcome_code_has_its_sentence_in_both_languages():
    """In English the server's own, which come with the lines (O-1); in Portuguese one here, not the English one."""
    portuguese = {key.removeprefix("outcome."): text for key, text in words("pt").items() if key.startswith("outcome.")}
    assert set(portuguese) == set(CODES)
    assert [code for code, text in portuguese.items() if text == CODES[code]] == []


def test_every_word_that_the_page_asks_for_is_there():
    """A key that is written out in the code has a sentence; one that is put together begins like some that have."""
    keys = words("pt")
    code = "\n".join(path.read_text("utf-8") for path in OURS if path.suffix == ".js" and path.parent.name != "text")
    assert {key for key in re.findall(r'\bt\("([^"]+)"', code) if key not in keys} == set()
    beginnings = re.findall(r"\bt\(`([^$`]+)\$\{", code)
    assert [start for start in beginnings if not any(key.startswith(start) for key in keys)] == []


def test_no_sentence_is_left_over():
    """Every sentence is asked for, by its key or by the beginning of its key."""
    code = "\n".join(path.read_text("utf-8") for path in OURS if path.suffix == ".js" and path.parent.name != "text")
    beginnings = {*re.findall(r"\bt\(`([^$`]+)\$\{", code), *re.findall(r"`\$\{name\}(\.title)`", code)}
    left = [key for key in words("en") if f'"{key}"' not in code and not any(key.startswith(one) for one in beginnings)]
    assert [key for key in left if not key.endswith(".title")] == []


@pytest.mark.parametrize("path", OURS, ids=named)
def test_the_page_has_nothing_that_its_content_policy_forbids(path: Path):
    """No style or script within the markup (but the import map), no code from text, no markup from data."""
    text = path.read_text("utf-8")
    forbidden = r"\bstyle=|<style|\bon[a-z]+=\"|javascript:|\beval\(|new Function|innerHTML|outerHTML|insertAdjacent"
    assert re.findall(forbidden, text) == []
    assert [kind for kind in re.findall(r"<script(?![^>]*\bsrc=)([^>]*)>", text) if "importmap" not in kind] == []


@pytest.mark.parametrize("path", OURS, ids=named)
def test_the_page_names_no_other_host(path: Path):
    """Whatever it loads, asks or links to is its own; an address of XML is a name and nothing is fetched from it."""
    names = {"http://www.w3.org/2000/svg"}
    found = re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s\"'`)]*", path.read_text("utf-8"))
    assert [url for url in found if url not in names] == []


@pytest.mark.parametrize("path", OURS, ids=named)
def test_what_a_file_of_the_page_loads_is_there(path: Path):
    """Every import, stylesheet, script and icon names a file of the page."""
    text = path.read_text("utf-8")
    loads = re.findall(r'^(?:import|export) .* from "(\.[^"]+)"', text, re.MULTILINE)
    if path.suffix == ".html":
        loads += [*re.findall(r'(?:href|src)="([^"]+)"', text), *re.findall(r'"(\./[^"]+)"', text)]
    assert [name for name in loads if name not in MADE_BY_THE_SERVER and not (path.parent / name).is_file()] == []


def test_the_files_of_the_page_are_small():
    """One subject a file: none of ours has 400 lines, but the lists of words."""
    lengths = {named(path): len(path.read_text("utf-8").splitlines()) for path in OURS if path.parent.name != "text"}
    assert {name: length for name, length in lengths.items() if length >= 400} == {}
