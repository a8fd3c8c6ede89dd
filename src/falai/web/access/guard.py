"""Everything that stands before a route, in its order: the name, the page, the caller, the body."""

from __future__ import annotations

from falai.web.access.addresses import Proxies
from falai.web.access.bodies import Bodies
from falai.web.access.heads import App
from falai.web.access.hosts import Hosts
from falai.web.access.identifying import Identifying
from falai.web.access.keys import Keys
from falai.web.access.origins import Origins
from falai.web.settings import WebSettings

__all__ = ["guarded"]


def guarded(app: App, settings: WebSettings, keys: Keys) -> App:
    """The application behind its guard: what is refused never reaches it. `app.add_middleware(guarded, settings, keys)`."""
    proxies = Proxies(settings.proxies)
    inner = Bodies(app, settings.max_body, settings.body_time)
    known = Identifying(inner, keys, settings.rate, proxies)
    return Hosts(Origins(known, settings.origins, proxies), settings.hosts)
