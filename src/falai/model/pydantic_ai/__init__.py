"""Everything that pydantic-ai reaches, as a `Model`. The only room that imports it, at the first call.

Of that library only the direct request API is used: its agents, its retries and its message types
stay outside. A call goes through four hands:

    model      decides how often and which model is asked (M-20); knows nothing of the library
    line       one model of the library in one event loop: sends a request, reads the answer in time
    asking     the request in the library's terms; `abilities` says how the model takes a schema
    reading    the answer as plain data, believed only when it is whole
"""

from __future__ import annotations

from falai.model.pydantic_ai.attempts import Pace
from falai.model.pydantic_ai.model import PydanticAIModel

__all__ = ["Pace", "PydanticAIModel"]
