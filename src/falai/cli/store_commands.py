"""The commands that work on a store of sessions, and what each takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click

__all__ = ["COMMANDS"]

F = TypeVar("F", bound=Callable[..., Any])


def _ago(_context: click.Context, _option: click.Parameter, duration: str | None) -> int | None:
    """The instant that lies this duration back."""
    if duration is None:
        return None
    # What each command needs is imported when it is used, so that --help is quick.
    from falai.errors import FlowConfigurationError
    from falai.flow import parse_duration
    from falai.session.dates import to_ms

    try:
        return to_ms(datetime.now(UTC)) - parse_duration(duration)
    except FlowConfigurationError as error:
        problem = error.problems[0]
        raise click.BadParameter(f"{problem.what}. {problem.fix}.") from error


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_store = click.option(
    "--store", required=True, envvar="FALAI_STORE", metavar="URL", help="The store. Default: what FALAI_STORE says."
)
_filters = _options(
    click.option("--flow", metavar="ID", help="Only sessions in which this flow is under way."),
    click.option(
        "--status",
        type=click.Choice(["asking", "waiting", "running", "suspended"]),
        help="Only sessions with a run in this state (with --flow, a run of that flow).",
    ),
    click.option("--older-than", callback=_ago, metavar="30d", help="Only sessions in which nothing was said since."),
    click.option("--newer-than", callback=_ago, metavar="2h", help="Only sessions in which something was said since."),
)
_limit = click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many sessions.")
_customer = click.option(
    "--customer",
    "customers",
    multiple=True,
    metavar="ID",
    help="All that the store holds of a customer: the session of this id, and the runs and claims that are"
    " anchored at it in other sessions. May be given several times.",
)


def _selection(ids: tuple[str, ...] = (), limit: int | None = None, **given: Any) -> Any:
    from falai.cli.sessions.selection import Selection

    return Selection(
        ids=ids,
        flow=given["flow"],
        status=given["status"],
        until_ms=given["older_than"],
        since_ms=given["newer_than"],
        limit=limit,
    )


def _exit(run: Callable[[], int]) -> None:
    from falai.cli.loading import LoadError

    try:
        code = run()
    except BrokenPipeError:
        raise  # nobody reads what it prints: click's matter
    except (LoadError, OSError) as error:
        raise click.UsageError(str(error)) from error
    sys.exit(code)


_MIGRATES = """\b
Examples:
  falai migrate --from old.sqlite --to sqlite:///sessions.db --dry-run
  falai migrate --from 'redis://localhost?prefix=agent:' --to postgresql://localhost/shop
  falai migrate --from old.jsonl --to new.sqlite --flow-ids flows.json
"""


@click.command(epilog=_MIGRATES)
@click.option(
    "--from",
    "source",
    required=True,
    envvar="FALAI_FROM",
    metavar="URL",
    help="The old place: the URL of a store, with ?table=, ?collection=, ?index= or ?prefix=, or a file of JSON lines.",
)
@click.option("--to", "target", required=True, envvar="FALAI_TO", metavar="URL", help="The new place: another store.")
@click.option(
    "--flow-ids",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A JSON object: ids of 3.x flows and signals, and the flow that took over from each. Others keep their id.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would happen.")
@click.option("--after", metavar="POSITION", help="Go on where an earlier run says that it stopped.")
def migrate(*, source: str, target: str, flow_ids: Path | None, dry_run: bool, after: str | None) -> None:
    """Move sessions from an old place into a new one: rows of 3.x, and of v4 as they are.

    Nothing in the old place is changed. A session that is in the new place already is left alone, so it
    may be run again, and while the new system works. The exit code is 0 when every row was moved or was
    there, 1 when some are no session, 2 when a place cannot be used, 130 when it was stopped.
    """
    from falai.cli.migrating.migrate import MigrateOptions, run_migrate

    options = MigrateOptions(source=source, target=target, flow_ids=flow_ids, dry_run=dry_run, after=after)
    _exit(lambda: run_migrate(options))


_SESSIONS = """\b
Examples:
  falai sessions list --store sqlite:///sessions.db --status asking
  falai sessions show s1 --store sessions.sqlite
  falai sessions export --older-than 365d --out old.jsonl
  falai sessions delete --customer +351912345678
"""


@click.group(epilog=_SESSIONS)
def sessions() -> None:
    """Look at the sessions of a store; export, import and delete them.

    The age of a session counts from what was said last in it, by the customer or the assistant; where
    nobody has spoken yet, from its newest claim. The exit code is 0 when all went well, 1 when a
    session was not there or a row could not be read or written, 2 when the store cannot be used or
    something on the command line is wrong.
    """


@sessions.command("list")
@_store
@_filters
@_limit
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_(*, store: str, limit: int | None, as_json: bool, **filters: Any) -> None:
    """List sessions, one a line."""
    from falai.cli.sessions.reading import run_list

    _exit(lambda: run_list(store, _selection(limit=limit, **filters), as_json=as_json))


@sessions.command()
@click.argument("id")
@_store
@click.option("--json", "as_json", is_flag=True, help="Print the stored blob.")
def show(*, id: str, store: str, as_json: bool) -> None:
    """Show one session: fields, runs, waits, claims."""
    from falai.cli.sessions.reading import run_show

    _exit(lambda: run_show(store, id, as_json=as_json))


@sessions.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_store
@_filters
@_limit
@_customer
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A new file. Default: standard output.",
)
def export(
    *,
    ids: tuple[str, ...],
    store: str,
    limit: int | None,
    customers: tuple[str, ...],
    out: Path | None,
    **filters: Any,
) -> None:
    """Write sessions as JSON lines: those of the IDs, those that pass the filters, or all.

    With --customer also what is anchored at the customer in the sessions of others, in lines
    {"elsewhere": ID, "runs": [...], "claims": {...}}.
    """
    from falai.cli.sessions.reading import run_export

    selection = _selection(ids, limit, **filters)
    _alone(customers, selection)
    _exit(lambda: run_export(store, selection, customers, out))


@sessions.command("import")
@click.argument("file", type=click.File("rb"))
@_store
@click.option("--replace", is_flag=True, help="Write over sessions that are there, each against its version.")
def import_(*, file: BinaryIO, store: str, replace: bool) -> None:
    """Save the sessions of a file of JSON lines; - reads standard input.

    Each is checked. One whose id is there already is refused, unless --replace is given.
    """
    from falai.cli.sessions.importing import run_import

    _exit(lambda: run_import(store, file, replace=replace))


@sessions.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@_store
@_filters
@_customer
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(*, ids: tuple[str, ...], store: str, customers: tuple[str, ...], yes: bool, **filters: Any) -> None:
    """Delete sessions: those of the IDs, or those that pass the filters.

    With --customer everything that the store holds of a customer is erased: the session, and the runs
    and claims that are anchored at the customer in the sessions of others.
    """
    from falai.cli.sessions.deleting import run_delete

    selection = _selection(ids, **filters)
    _alone(customers, selection)
    if selection.everything and not customers:
        raise click.UsageError("say which sessions: ids, a filter such as --older-than 365d, or --customer")
    _exit(lambda: run_delete(store, selection, customers, yes=yes))


def _alone(customers: tuple[str, ...], selection: Any) -> None:
    if any(not id.strip() for id in customers):
        raise click.UsageError("the id of a customer is not blank")
    if customers and not selection.everything:
        raise click.UsageError("--customer means all of a customer: it takes no ids and no filters beside it")


COMMANDS = (migrate, sessions)
