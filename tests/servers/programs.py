"""The servers: PostgreSQL, Redis and MariaDB from the system's packages; stand-ins for MongoDB and OpenSearch from PyPI.

None of them waits for a disk: what a test writes has to outlive the server, not the machine.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from servers.process import Server, program

__all__ = ["MariaDB", "MongoDouble", "OpenSearchDouble", "PostgreSQL", "Redis"]


class PostgreSQL(Server):
    """Anyone on this machine may come in as `falai`, who may do everything."""

    name = "postgresql"
    refuses_root = True
    stop_signal = signal.SIGINT  # ends the sessions; SIGTERM would wait for the clients to leave

    @property
    def url(self) -> str:
        return f"postgresql://falai@127.0.0.1:{self.port}/postgres"

    def prepare(self) -> None:
        self.run(
            *(self._program("initdb"), "-D", str(self.folder / "data"), "-U", "falai"),
            *("--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"),
        )

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "32MB",
            "max_connections": "60",
        }
        options = [f"--{key}={value}" for key, value in settings.items()]
        return [self._program("postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), *options]

    def ready(self) -> bool:
        asked = [self._program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0

    @staticmethod
    def _program(name: str) -> str:
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        return program(name, "postgresql", str(versions[-1]) if versions else "")


class Redis(Server):
    """Every write is in its file before it is answered, so a restart keeps it."""

    name = "redis"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        place = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        return [
            program("redis-server", "redis-server"),
            *place,
            "--appendonly",
            "yes",
            "--appendfsync",
            "no",
            "--save",
            "",
        ]

    def ready(self) -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), 1)) as line:
            line.sendall(b"PING\r\n")
            return line.recv(64) == b"+PONG\r\n"
        return False


class MariaDB(Server):
    """The user `falai` has no password; the database is called `falai` too."""

    name = "mariadb"
    refuses_root = True

    @property
    def url(self) -> str:
        return f"mariadb://falai@127.0.0.1:{self.port}/falai"

    def prepare(self) -> None:
        (self.folder / "init.sql").write_text(
            "CREATE DATABASE IF NOT EXISTS falai;\n"
            "CREATE USER IF NOT EXISTS falai@'%' IDENTIFIED BY '';\n"
            "GRANT ALL ON *.* TO falai@'%';\n"
        )
        self.run(
            *(program("mariadb-install-db", "mariadb-server"), "--no-defaults", f"--datadir={self.folder / 'data'}"),
            *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
            *self._unsafe,
        )

    def command(self) -> list[str]:
        place = [f"--datadir={self.folder / 'data'}", f"--socket={self.folder / 'socket'}"]
        net = ["--bind-address=127.0.0.1", f"--port={self.port}", "--skip-name-resolve"]
        start = [f"--init-file={self.folder / 'init.sql'}", f"--pid-file={self.folder / 'pid'}", "--skip-log-bin"]
        return [program("mariadbd", "mariadb-server"), "--no-defaults", *place, *net, *start, *self._unsafe]

    def ready(self) -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), 1)) as line:
            return bool(line.recv(64))
        return False

    _unsafe: ClassVar[list[str]] = [
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=0",
        "--innodb-log-file-size=8M",
        "--innodb-buffer-pool-size=32M",
    ]


class MongoDouble(Server):
    """`nx-27017` speaks MongoDB's protocol over SQLite. It shows what our store sends, not what MongoDB makes of it."""

    name = "mongo-double"

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}/"

    def prepare(self) -> None:
        (self.folder / "data").mkdir()

    def command(self) -> list[str]:
        place = ["--host", "127.0.0.1", "-p", str(self.port), "--data-dir", str(self.folder / "data"), "-j", "MEMORY"]
        files = ["--log-file", str(self.folder / "log"), "--pid-file", str(self.folder / "pid")]
        return [sys.executable, "-c", "from nx_27017.nx_27017 import main; main()", *place, *files]

    def ready(self) -> bool:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        return False


class OpenSearchDouble(Server):
    """`osmem-server` speaks OpenSearch's protocol and keeps all in memory. It shows what our store sends."""

    name = "opensearch-double"
    keeps = False

    @property
    def url(self) -> str:
        return f"opensearch://127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        package = find_spec("osmem_server")
        assert package is not None
        assert package.origin is not None
        binary = Path(package.origin).parent / "bin" / "osmem-server"
        return [str(binary), "-addr", f"127.0.0.1:{self.port}", "-no-stdin-watch", "-no-ja"]

    def ready(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=1) as answer:
            return bool(answer.status == 200)
        return False
