"""A line to a server that a test can cut."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit

Side = Literal["before", "after"]
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of no time: closing sends a reset


class Proxy:
    """Passes bytes between clients and the server of a URL; `url` is that URL with the proxy's place in it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._server = (parts.hostname, parts.port)
        self._port = 0
        self._lines: list[socket.socket] = []
        self._lock = threading.Lock()
        self._cut_on: tuple[bytes, Side] | None = None
        self._listener: socket.socket | None = None
        self._frozen = False
        self.open()
        user, at, _ = parts.netloc.rpartition("@")
        self.url = parts._replace(netloc=f"{user}{at}127.0.0.1:{self._port}").geturl()

    def open(self) -> None:
        """Takes connections, again at the same port."""
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self._port))
        self._listener.listen()
        self._port = self._listener.getsockname()[1]
        self._start(self._accept, self._listener)

    def close(self) -> None:
        """Refuses new connections and cuts those there are, as a server that is gone does."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def cut(self) -> None:
        """Resets every connection; new ones are taken."""
        with self._lock:
            for line in self._lines:
                with suppress(OSError):
                    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    line.shutdown(socket.SHUT_RDWR)
                line.close()
            self._lines = []

    def freeze(self) -> None:
        """From now on what is sent is lost, either way, and nobody is told: a network that drops packets."""
        self._frozen = True

    def thaw(self) -> None:
        """The network is there again; connections that lost something are reset."""
        self._frozen = False
        self.cut()

    def cut_on(self, text: bytes, side: Side = "before") -> None:
        """Cuts once, when a client sends these bytes in one piece.

        `before` the server has them, so that it never knows; or `after` it has carried them out and
        answers, so that only the client never knows.
        """
        self._cut_on = (text, side)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(self._server)
                except OSError:  # it is down at the moment: its client hears so, and the next one is taken
                    client.close()
                    continue
                with self._lock:
                    self._lines += [client, server]
                answered = threading.Event()
                self._start(self._up, client, server, answered)
                self._start(self._down, server, client, answered)

    def _up(self, client: socket.socket, server: socket.socket, lost: threading.Event) -> None:
        """What a client sends."""
        for data in _pieces(client):
            found = self._cut_on
            if found and found[0] in data:
                self._cut_on = None
                if found[1] == "before":
                    self.cut()
                    return
                lost.set()
            if not self._frozen:
                server.sendall(data)

    def _down(self, server: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        """What the server answers."""
        for data in _pieces(server):
            if lost.is_set():
                self.cut()
                return
            if not self._frozen:
                client.sendall(data)

    def _start(self, target: object, *args: object) -> None:
        threading.Thread(target=self._quietly, args=(target, *args), daemon=True).start()

    def _quietly(self, target: object, *args: object) -> None:
        """A line that was cut ends both its directions."""
        assert callable(target)
        with suppress(OSError):
            target(*args)
        with self._lock:  # a line that is closed meanwhile would leave its number to a new one, which would be ended
            for line in args:
                if isinstance(line, socket.socket) and line is not self._listener:
                    with suppress(OSError):
                        line.shutdown(socket.SHUT_RDWR)


def _pieces(line: socket.socket):
    while data := line.recv(65536):
        yield data
