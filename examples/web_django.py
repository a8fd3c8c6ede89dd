"""A project of Django in one file, and an assistant's API beside it, in one process.

Run it with `uvicorn web_django:application`, in this folder. Django answers everything but `/assistant`. A view
reaches the same host by `host`: here, a form of the shop becomes an event of a conversation.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from starlette.applications import Starlette
from starlette.routing import Mount

from falai import Agent, Event, Flow, OnAnyMessage, OnEvent, Say
from falai.host import Host
from falai.web import create_app

agent = Agent(
    name="Ana",
    model="lexical",
    events={"paid": {}},
    flows=[
        Flow("paid", on=[OnEvent("paid")], steps=[Say("thanks", "Thank you, your payment has arrived.")]),
        Flow("hello", on=[OnAnyMessage()], steps=[Say("hi", "Hello! How can I help?")]),
    ],
)
host = Host(agent, os.environ.get("FALAI_STORE", "shop.db"))

# --- Django, as any project has it ---------------------------------------------------------------

settings.configure(
    ALLOWED_HOSTS=["localhost", "127.0.0.1"],
    ROOT_URLCONF=__name__,
    SECRET_KEY=os.environ.get("DJANGO_SECRET_KEY", "only for trying it out"),
)
django.setup()


def home(request: HttpRequest) -> HttpResponse:
    """What the project did before."""
    return HttpResponse(f"The shop, at {request.path}")


@csrf_exempt  # who calls is another system, as a provider of payments; it would prove who it is here
@require_POST
async def paid(request: HttpRequest) -> JsonResponse:
    """Reports an event to the conversation of a customer."""
    said = json.loads(request.body)
    taken = await host.receive(said["session"], Event("paid", key=said["payment"]))
    return JsonResponse({"new": taken.new})


urlpatterns = [path("", home), path("paid", paid)]

# --- both in one process -------------------------------------------------------------------------


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncGenerator[None]:
    """The host runs as long as the process serves."""
    async with host:
        yield


application = Starlette(
    routes=[Mount("/assistant", create_app(host)), Mount("/", get_asgi_application())], lifespan=lifespan
)
