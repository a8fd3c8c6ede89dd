"""What is looked at in the URL of a store: its hosts, and the secrets that no message may show."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from falai.cli.loading import LoadError

__all__ = ["check_hosts", "hidden", "hosts", "secrets_of"]

_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]*))?")


def hosts(url: str) -> list[tuple[str, str]]:
    """Each host of a server's URL with its port, both as they are written.

    Raises `LoadError`, which shows nothing of the URL: what stands where a port should may be half a password.
    """
    try:
        every = urlsplit(url).netloc.rpartition("@")[2].split(",")
    except ValueError:
        every = ["["]
    found = [_HOST.fullmatch(host) for host in every]
    if not all(found):
        raise LoadError(
            "the URL cannot be understood: it is scheme://user:password@host:port/..., and in a user or a password"
            " the characters / ? # @ : [ ] are written as %2F %3F %23 %40 %3A %5B %5D"
        )
    return [(host[1].strip("[]"), host[2] or "") for host in found if host]


def check_hosts(url: str) -> None:
    """Raises `LoadError` like `hosts`; a path and a database in a file have none."""
    if "://" in url and not url.lower().startswith("sqlite"):
        hosts(url)


def hidden(text: str, *urls: str) -> str:
    """The text without the passwords of these URLs."""
    for url in urls:
        for secret in secrets_of(url):
            text = text.replace(secret, "***")
    return text


def secrets_of(url: str) -> list[str]:
    """The password as it is written and as it is meant, the longest first."""
    try:
        password = urlsplit(url).password or ""
    except ValueError:
        password = ""
    in_options = re.findall(r"[?&](?:password|passwd|pwd|token|secret)=([^&]*)", url, re.IGNORECASE)
    found = {form for text in (password, *in_options) for form in (text, unquote(text))}
    return sorted(filter(None, found), key=len, reverse=True)
