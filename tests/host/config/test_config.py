"""A configuration from a file, variables and a command line, and all that can be wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.channel.port import Attachment, Outgoing, Template
from falai.channel.webhook import WebhookChannel
from falai.host.config import Config, ConfigError, read_config
from falai.host.settings import Keep, Settings
from falai.host.windows import SendingWindow, Windows

Read = Callable[..., Config]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a text as `falai.toml`, without the variables of the machine."""

    def reading(
        toml: str = "", environment: Mapping[str, str] | None = None, given: Mapping[str, str | None] | None = None
    ) -> Config:
        file = tmp_path / "falai.toml"
        file.write_text(toml, encoding="utf-8")
        return read_config(file, environment=environment or {}, given=given)

    return reading


def _problems(read: Read, *given: object) -> dict[str, str]:
    with pytest.raises(ConfigError) as raised:
        read(*given)
    return {problem.where.rpartition("falai.toml: ")[2]: problem.what for problem in raised.value.problems}


def test_a_mark_at_the_beginning_is_no_mistake(tmp_path: Path) -> None:
    """Some editors write the byte order mark in front of what is UTF-8."""
    (tmp_path / "falai.toml").write_bytes(b'\xef\xbb\xbfagent = "a.py"')
    assert read_config(tmp_path / "falai.toml", environment={}).agent == "a.py"


def test_what_is_not_written_has_a_default(read: Read) -> None:
    """An agent is enough, from anywhere."""
    only_agent = Config(agent="desk.py")
    assert read('agent = "desk.py"') == only_agent
    assert read_config(environment={"FALAI_AGENT": "desk.py"}) == only_agent
    assert read_config(environment={}, given={"agent": "desk.py", "store": None}) == only_agent


def test_every_table(read: Read, tmp_path: Path) -> None:
    """What each says becomes what a host takes."""
    config = read(f"""
        agent = "shop.agents:sales"
        model = "openai:gpt-5-mini"
        store = "shop.db"
        tenant = "north"
        spool = "{tmp_path}"
        [log]
        level = "debug"
        format = "json"
        [host]
        burst = "2s"
        at_once = 20
        retries = ["1s", "1m"]
        opt_outs = ["stop", "parar"]
        [keep]
        transcript = "90d"
        [windows.answers]
        hours = "00:00-24:00"
        [windows.follow_ups]
        hours = {{ mon-fri = "09:00-18:00", sat = ["09:00-12:00", "13:00-15:00"] }}
        tz = "America/Sao_Paulo"
        holidays = "BR-SP"
        closed = [2026-12-24]
        [windows.template]
        name = "come_back"
        language = "pt_BR"
        texts = ["Ana"]
    """)
    hours = {"mon-fri": "09:00-18:00", "sat": ["09:00-12:00", "13:00-15:00"]}
    follow_ups = SendingWindow(hours, tz="America/Sao_Paulo", holidays="BR-SP", closed=(date(2026, 12, 24),))
    template = Template("come_back", "pt_BR", ("Ana",))
    settings = Settings(
        burst="2s", at_once=20, retries=("1s", "1m"), opt_outs=("stop", "parar"), keep=Keep(transcript="90d"),
        windows=Windows(answers=SendingWindow("00:00-24:00"), follow_ups=follow_ups, template=template),
    )  # fmt: skip
    assert config == Config(
        agent="shop.agents:sales", model="openai:gpt-5-mini", store="shop.db", tenant="north", spool=tmp_path,
        log_level="debug", log_format="json", settings=settings,
    )  # fmt: skip


def test_variables_lie_over_the_file_and_the_command_line_over_both(read: Read) -> None:
    """The nearer to the one who starts it, the stronger."""
    file = """
        agent = "file.py"
        store = "file.db"
        tenant = "file"
        [host]
        burst = "1s"
        at_once = 5
        [windows.follow_ups]
        hours = { mon = "09:00-10:00" }
    """
    variables = {
        "FALAI_AGENT": "variable.py",
        "FALAI_STORE": "variable.db",
        "FALAI_HOST__BURST": "3s",
        "FALAI_HOST__OPT_OUTS": "stop, não quero mais",
        "FALAI_HOST__HISTORY": "7",
        "FALAI_WINDOWS__FOLLOW_UPS__HOURS": "09:00-20:00",
        "FALAI_WINDOWS__FOLLOW_UPS__CLOSED": "2026-12-24, 2026-12-31",
    }
    config = read(file, variables, {"store": "line.db"})
    assert (config.agent, config.store, config.tenant) == ("variable.py", "line.db", "file")
    assert (config.settings.burst, config.settings.at_once, config.settings.history) == ("3s", 5, 7)
    assert config.settings.opt_outs == ("stop", "não quero mais")
    closed = (date(2026, 12, 24), date(2026, 12, 31))
    assert config.settings.windows.follow_ups == SendingWindow("09:00-20:00", closed=closed)


def test_hours_in_a_variable_may_be_several(read: Read) -> None:
    """As every list: with commas."""
    config = read(AGENT, {"FALAI_WINDOWS__ANSWERS__HOURS": "09:00-12:00, 13:00-18:00"})
    assert config.settings.windows.answers == SendingWindow(["09:00-12:00", "13:00-18:00"])


def test_variables_of_others_are_left_alone(read: Read) -> None:
    """`FALAI_CONFORMANCE`, `FALAI_MONGO_URL`: no settings of a host, and no mistakes."""
    others = {"FALAI_MONGO_URL": "mongodb://localhost", "FALAI_CONFORMANCE": "x", "PATH": "/bin", "A__B": "1"}
    assert read('agent = "a.py"', others) == Config(agent="a.py")


def test_every_problem_is_said_at_once_with_its_place(read: Read) -> None:
    """A file with a mistake in each corner, and variables with some more."""
    problems = _problems(
        read,
        """
        stroe = "x.db"
        tenant = ""
        store = "redis://localhost"
        spool = "gone/"
        host = { burst = "2 s", at_once = 0, retries = "1s", histroy = 5, opt_outs = ["stop", "!"] }
        [keep]
        messages = 3
        [log]
        level = "loud"
        [windows.answers]
        hours = "9-18"
        tz = "Mars"
        [windows.follow_ups]
        hours = { mon-fri = "09:00-18:00", saturday = "09:00-12:00" }
        holidays = "XX"
        closed = ["2026-12-24"]
        [windows.template]
        name = "come_back"
        [channels.hook]
        kind = "webhook"
        url = "https://example.org/in"
        [channels.other]
        kind = "sms"
        [channels.third]
        """,
        {"FALAI_HOST__TURN_LIMIT": "soon", "FALAI_HOTS__BURST": "1s", "FALAI_HOST__HISTORY": "-1"},
    )
    begins = {
        "agent": "no agent is named: write its module or file",
        "tenant": 'it is "", and should be a text',
        "store": 'a host keeps nothing in "redis://" like this: write a file of SQLite, or a postgresql:// URL',
        "spool": 'there is no folder "gone/": make it',
        "log.level": 'it is "loud", and should be one of debug, info',
        "keep.messages": "it is 3, and should be a text",
        "windows.answers.hours": 'hours has "9-18": write HH:MM-HH:MM',
        "windows.answers.tz": '"Mars" is no time zone',
        "windows.follow_ups.hours": 'hours has "saturday": write a day',
        "windows.follow_ups.holidays": 'holidays is "XX": write a country',
        "windows.follow_ups.closed": "it is a list, and should be a list of dates",
        "windows.template.language": "it is missing",
        "host.burst": 'burst is "2 s". Write 30s',
        "host.at_once": "at_once is 0. Write a whole number of 1 or more",
        "host.retries": 'it is "1s", and should be a list of texts',
        "host.opt_outs": 'the opt-out word "!" has neither letter nor digit',
        "host.histroy": 'there is no such setting. Did you mean "history"? Here are: ',
        "FALAI_HOST__TURN_LIMIT": 'turn_limit is "soon". Write 30s',
        "FALAI_HOST__HISTORY": 'it is "-1", and should be a whole number',
        "channels.hook.secret": 'it is missing, and a channel of this kind needs it: write secret = { env = "A_VAR',
        "channels.other.kind": 'it is "sms", and should be one of ',
        "channels.third.kind": "no kind is written: write one of ",
        "stroe": 'there is no such setting. Did you mean "store"?',
        "FALAI_HOTS__BURST": "there are no such settings: write one of FALAI_CHANNELS__…",
    }
    assert problems.keys() == begins.keys()
    assert [place for place, words in begins.items() if not problems[place].startswith(words)] == []


@pytest.mark.parametrize(
    ("toml", "place", "words"),
    [
        ('host = "x"', "host", "it should be a table: write [host]"),
        ('[channels]\nhook = "x"', "channels.hook", "it should be a table: write [channels.hook]"),
        ("[windows.follow_ups]\ntz = 'UTC'", "windows.follow_ups.hours", "no hours are written"),
        ("[host]\nat_once = true", "host.at_once", "it is true, and should be a whole number"),
        ("store = { path = 'x' }", "store", "it is an object, and should be a text"),
        ("[windows.follow_ups]\nhours='09:00-18:00'\nclosed=[2026-12-24T00:00:00]", "windows.follow_ups.closed", "it is a"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind(read: Read, toml: str, place: str, words: str) -> None:
    """What it is, and what it should be."""
    assert _problems(read, toml, {"FALAI_AGENT": "a.py"})[place].startswith(words)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """One problem, beside those of the variables: no file, no UTF-8, no TOML."""
    (tmp_path / "latin.toml").write_bytes(b'agent = "caf\xe9"')
    (tmp_path / "no.toml").write_text("agent = \nb")
    (tmp_path / "deep.toml").write_text(f"agent = {'[' * 5000}")
    (tmp_path / "long.toml").write_text(f"agent = {'9' * 5000}")
    for name, words in [
        ("gone.toml", "it cannot be read: No such file or directory"),
        ("latin.toml", "byte 12 is not UTF-8: a TOML file is"),
        ("deep.toml", "it is no TOML: maximum recursion depth"),
        ("long.toml", "it is no TOML: Exceeds the limit"),
        ("no.toml", "it is no TOML: Invalid value (at line 1, column 9)"),
    ]:
        with pytest.raises(ConfigError) as raised:
            read_config(tmp_path / name, environment={"FALAI_AGENT": "a.py", "FALAI_HOST__BURST": "x"})
        assert raised.value.problems[0].what.startswith(words)
        assert [problem.where for problem in raised.value.problems] == [str(tmp_path / name), "FALAI_HOST__BURST"]


def test_the_error_reads_as_a_list(read: Read, tmp_path: Path) -> None:
    """For a person: a count, then a line for each, with its place."""
    with pytest.raises(ConfigError) as raised:
        read("agent = 1\n[host]\nburst = 'x'")
    assert str(raised.value).splitlines() == [
        "the configuration has 2 problems:",
        f"  {tmp_path / 'falai.toml'}: agent: it is 1, and should be a text",
        f'  {tmp_path / "falai.toml"}: host.burst: burst is "x". Write 30s, 5m, 24h or 3d',
    ]


# --- channels and secrets ---------------------------------------------------------------------

HOOK = '[channels.hook]\nkind = "webhook"\nurl = "http://localhost:1/in"\n'
AGENT = 'agent = "a.py"\n'


def test_a_channel_is_made(read: Read) -> None:
    """By its table's name, with its options."""
    config = read(AGENT + HOOK + 'tolerance = 60\nsecret = { env = "HOOK" }', {"HOOK": "s3cr3t"})
    assert config.channels["hook"].name == "hook"
    assert config.secrets == ("s3cr3t",)


@pytest.mark.parametrize(
    ("toml", "variables"),
    [
        (AGENT + HOOK + 'secret = { env = "HOOK" }', {"HOOK": "s3cr3t"}),
        (AGENT + HOOK + 'secret = { file = "hook.txt" }', {}),
        (AGENT + HOOK, {"FALAI_CHANNELS__HOOK__SECRET": "s3cr3t"}),
        (AGENT + HOOK + 'secret = { env = "HOOK" }', {"HOOK": "s3cr3t\n"}),
        (AGENT + HOOK, {"FALAI_CHANNELS__HOOK__SECRET": " s3cr3t\n"}),
        (AGENT + HOOK + 'secret = { file = "gone" }', {"FALAI_CHANNELS__HOOK__SECRET": "s3cr3t"}),
    ],
)
def test_a_secret_comes_from_a_variable_or_a_file(
    read: Read, tmp_path: Path, toml: str, variables: dict[str, str]
) -> None:
    """A file is looked for beside the configuration; the space around a secret does not count."""
    (tmp_path / "hook.txt").write_text("s3cr3t\n")
    assert read(toml, variables).secrets == ("s3cr3t",)


@pytest.mark.parametrize(
    ("secret", "place", "words"),
    [
        ('"s3cr3t"', "secret", "a secret does not stand here: write { env = "),
        ("12345", "secret", "a secret does not stand here"),
        ('["s3cr3t"]', "secret", "a secret does not stand here"),
        ('{ env = "NOT_SET" }', "secret", "the environment variable NOT_SET is not set"),
        ('{ env = "EMPTY" }', "secret", "the environment variable EMPTY is not set"),
        ('{ env = "BLANK" }', "secret", "the environment variable BLANK is not set"),
        ('{ file = "gone.txt" }', "secret", "the file gone.txt cannot be read: No such file"),
        ('{ file = "a\\u0000b" }', "secret", "the file a\0b cannot be read: embedded null byte"),
        ('{ file = "empty.txt" }', "secret", "the file empty.txt is empty"),
        ('{ env = "HOOK", file = "x" }', "secret", "write one of { env"),
        ("{}", "secret", "write one of { env"),
        ('{ value = "s3cr3t" }', "secret.value", "there is no such setting"),
    ],
)
def test_a_secret_that_is_not_there(read: Read, tmp_path: Path, secret: str, place: str, words: str) -> None:
    """It is said where it is missing, and nothing that may be one is shown."""
    (tmp_path / "empty.txt").write_text(" \n")
    problems = _problems(read, AGENT + HOOK + f"secret = {secret}", {"HOOK": "h1dden", "EMPTY": "", "BLANK": " \n"})
    assert problems[f"channels.hook.{place}"].startswith(words)
    assert "s3cr3t" not in str(problems)
    assert "h1dden" not in str(problems)


def test_a_variable_without_a_secret(read: Read) -> None:
    """It is set, and there is nothing in it."""
    assert _problems(read, AGENT + HOOK, {"FALAI_CHANNELS__HOOK__SECRET": ""}) == {
        "FALAI_CHANNELS__HOOK__SECRET": "it is empty: set it to the secret"
    }


def test_a_channel_that_refuses_its_options(read: Read) -> None:
    """What its class says, without the secret."""
    toml = AGENT + '[channels.hook]\nkind = "webhook"\nurl = "s3cr3t"\nsecret = { env = "HOOK" }'
    problems = _problems(read, toml, {"HOOK": "s3cr3t"})
    assert list(problems) == ["channels.hook"]
    assert "s3cr3t" not in str(problems)


def test_slugs_have_their_files(read: Read) -> None:
    """By a URL, or by the id that the vendor gave a file."""
    menu = (
        '[channels.hook.media.menu]\nkind = "document"\nurl = "https://example.com/menu.pdf"\nfilename = "menu.pdf"\n'
    )
    voice = '[channels.hook.media.hello]\nkind = "voice"\nid = "f1"\n'
    config = read(AGENT + HOOK + 'secret = { env = "HOOK" }\n' + menu + voice, {"HOOK": "s3cr3t"})
    hook = config.channels["hook"]
    assert isinstance(hook, WebhookChannel)
    letters = [Outgoing("s", "a", "", "k", media=slug) for slug in ("menu", "hello")]
    assert [hook.media_of(letter) for letter in letters] == [
        Attachment("document", url="https://example.com/menu.pdf", filename="menu.pdf"),
        Attachment("voice", id="f1"),
    ]


def test_files_that_are_none(read: Read) -> None:
    """Each is told with its slug."""
    files = (
        '[channels.hook.media]\na = {}\nb = { kind = "film", url = "x" }\nc = { kind = "image", url = "x", id = "y" }\n'
    )
    problems = _problems(read, AGENT + HOOK + 'secret = { env = "HOOK" }\n' + files, {"HOOK": "s3cr3t"})
    assert sorted(problems) == [f"channels.hook.media.{where}" for where in ("a", "a.kind", "b.kind", "c")]


def test_a_configuration_shows_no_secret(read: Read) -> None:
    """Nor does its `repr`."""
    config = read(AGENT + HOOK + 'secret = { env = "HOOK" }', {"HOOK": "s3cr3t"})
    assert "s3cr3t" not in repr(config)


# --- anything ---------------------------------------------------------------------------------

_names = st.sampled_from(
    [
        "agent",
        "host",
        "keep",
        "windows",
        "channels",
        "log",
        "burst",
        "follow_ups",
        "hours",
        "kind",
        "secret",
        "env",
        "x",
    ]
)
_scalars = st.one_of(
    st.booleans().map(lambda value: str(value).lower()),
    st.integers(-5, 2**70).map(str),
    st.sampled_from(['"webhook"', '"1s"', '"09:00-18:00"', "2026-12-24", "1.5", "nan", '""', "[]", '[1, "x"]', "{ }"]),
)
_variables = st.builds(lambda path, value: ("FALAI_" + "__".join(path).upper(), value),
                       st.lists(_names, min_size=1, max_size=4), st.sampled_from(["", "1", "1s", "x, y", "2026-12-24"]))  # fmt: skip


@pytest.mark.property
@given(
    st.dictionaries(st.lists(_names, min_size=1, max_size=4).map(".".join), _scalars), st.lists(_variables).map(dict)
)
def test_anything_is_a_configuration_or_a_list_of_problems(toml: dict[str, str], variables: dict[str, str]) -> None:
    """Whatever stands there: no other error ever comes out."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "falai.toml"
        file.write_text("\n".join(f"{name} = {value}" for name, value in toml.items()))
        with suppress(ConfigError):
            assert read_config(file, environment=variables).agent


def test_an_hour_in_the_file_is_an_hour_of_the_host(read: Read) -> None:
    """From the text of a file to a moment: Friday evening in Sao Paulo becomes Monday morning."""
    toml = '[windows.follow_ups]\nhours = { mon-fri = "09:00-18:00" }\ntz = "America/Sao_Paulo"'
    window = read(AGENT + toml).settings.windows.follow_ups
    assert window is not None
    assert window(datetime(2026, 11, 27, 22, tzinfo=UTC), None) == datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_rate_of_no_channel(read: Read) -> None:
    """Would hold for nothing; what the file has is named."""
    webhook = '[channels.web]\nkind = "webhook"\nurl = "http://localhost/in"\nsecret = { env = "IT" }\n'
    rates = 'agent = "a.py"\n[host]\nrates = ["web: 80 in 1s", "wob: 80 in 1s"]\n'
    assert _problems(read, rates + webhook, {"IT": "it"}) == {
        "host.rates": 'rates has a channel that is none: "wob"; the host has web. Name one of its channels'
    }
