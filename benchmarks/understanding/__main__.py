"""`python -m benchmarks.understanding MODEL`: the figures of a model over the labelled messages."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence

from benchmarks.understanding.figures import Counts, as_json, as_tables, counted
from benchmarks.understanding.play import Seen, play
from benchmarks.understanding.rows import Row, load_rows, sample
from falai.model import Model, PydanticAIModel, resolve_model

_SLOW_SERVER_S = 600.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays the rows one after the other; the tables go to standard output, progress to standard error."""
    given = _parser().parse_args(arguments)
    rows = [row for row in load_rows() if _is_asked_for(row, given)]
    rows = sample(rows, given.limit, given.seed) if given.limit else rows
    results = asyncio.run(_measure(_model(given.model, given.base_url), rows, show_all=given.show))
    print(json.dumps(as_json(results), ensure_ascii=False, indent=1) if given.json else as_tables(results))
    return 0


def _is_asked_for(row: Row, given: argparse.Namespace) -> bool:
    return (
        given.language in (None, row.language) and given.agent in (None, row.agent) and given.kind in (None, *row.kinds)
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.understanding", description=__doc__)
    parser.add_argument("model", help='"lexical", or a name such as "openai:gpt-5-mini"')
    parser.add_argument("--base-url", help="a server that speaks OpenAI's chat protocol")
    parser.add_argument("--language", help="rows of one language: en, pt or es")
    parser.add_argument("--agent", help="rows of one agent: clinic, rental or sales")
    parser.add_argument("--kind", help="rows of one kind, such as injection")
    parser.add_argument("--limit", type=int, help="at most so many rows, from all languages in turns")
    parser.add_argument("--seed", type=int, default=0, help="which rows a limit takes")
    parser.add_argument("--json", action="store_true", help="all counts as JSON")
    parser.add_argument("--show", action="store_true", help="what was seen of each row that is not all right")
    return parser


def _model(name: str, base_url: str | None) -> Model:
    return (
        resolve_model(name) if name == "lexical" else PydanticAIModel(name, base_url=base_url, timeout=_SLOW_SERVER_S)
    )


async def _measure(model: Model, rows: Sequence[Row], *, show_all: bool) -> dict[Row, Counts]:
    results: dict[Row, Counts] = {}
    try:
        for number, row in enumerate(rows, 1):
            seen = await play(row, model)
            results[row] = counted(row, seen)
            print(f"{number}/{len(rows)} {row.id} {_verdict(results[row])} {seen.seconds:.1f} s", file=sys.stderr)
            if show_all and _verdict(results[row]) != "right":
                print(_shown(row, seen), file=sys.stderr)
    except asyncio.CancelledError:  # Ctrl-C: a run of an hour keeps what it has
        print(f"stopped after {len(results)} of {len(rows)} messages", file=sys.stderr)
    return results


def _verdict(counts: Counts) -> str:
    """What is not right, in words; "right" when all is."""
    wrong = {name: counts[name] for name in ("failed", "unreadable", "wrong", "missed", "invented", "echo")}
    wrong |= {"misrouted": counts["routes"] - counts["routed"], "misjudged": counts["judgements"] - counts["judged"]}
    wrong |= {name: counts[name] for name in ("misheard", "unheard")}
    return ", ".join(f"{name} {count}" for name, count in wrong.items() if count) or "right"


def _shown(row: Row, seen: Seen) -> str:
    found = {
        "route": seen.route, "mentions": sorted(seen.mentions), "values": dict(seen.values), "branch": seen.branch,
        "asks": seen.asks, "failure": seen.failure,
    }  # fmt: skip
    said = "".join(f"\n    {role}: {text}" for role, text in row.history)
    right = {"route": row.route, "mentions": row.mentions, "values": row.fields, "branch": row.branch, "asks": row.asks}
    return f"    [{row.agent} {row.floor}]{said}\n    user: {row.text}\n    seen:  {found}\n    right: {right}"


if __name__ == "__main__":
    sys.exit(main())
