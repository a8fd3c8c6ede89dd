"""Spans of OpenTelemetry, where there are any to be made.

Only its API is used, and only once the program has set a tracer provider: before that, OpenTelemetry
is not even imported. A failure is told by its kind; an exception's words may be a customer's, so
they are never on a span.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from falai.errors import ProviderError
from falai.log import SESSION
from falai.observability import names

if TYPE_CHECKING:
    from typing import Self

    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["Spans", "Work", "error_type"]

T = TypeVar("T")


class Spans:
    """Makes the spans of one turn: the first is below what is current, the others are below the first.

    `content` says whether they may hold what was written and said.
    """

    def __init__(self, tracer: Tracer, session: str, *, content: bool) -> None:
        self.content = content
        self._tracer = tracer
        self._session = session
        self._root: Span | None = None

    @staticmethod
    def wanted(session: str, *, content: bool) -> Spans | None:
        """The spans of a turn, if the program has set a tracer provider: whoever did has imported the API."""
        trace = sys.modules.get("opentelemetry.trace")
        provider = None if trace is None else trace.get_tracer_provider()
        if trace is None or provider is None or isinstance(provider, trace.ProxyTracerProvider):
            return None
        return Spans(_tracer(provider), session, content=content)

    def start(self, name: str, attributes: Mapping[str, Any], *, remote: bool = False) -> Span:
        """A span. An attribute that is `None` is left out."""
        from opentelemetry import trace

        span = self._tracer.start_span(
            name,
            None if self._root is None else trace.set_span_in_context(self._root),
            trace.SpanKind.CLIENT if remote else trace.SpanKind.INTERNAL,
            _known({names.CONVERSATION: self._session, **attributes}),
        )
        self._root = self._root or span
        return span


class Work:
    """Something that takes a while, and its span, if it has one.

    Entered, it lasts until it is left, and its span is the current one. With a stream the consumer
    has its turn in between, and what that does is not below the span, and may run in another
    context: there `lasting` is entered, and `current` or `within` for what is done here.
    """

    def __init__(self, session: str, spans: Spans | None) -> None:
        self.session = session
        self._spans = spans
        self._span: Span | None = None
        self._begun = perf_counter()

    def __enter__(self) -> Self:
        self._outer = SESSION.set(self.session)
        if self._span is not None:
            from opentelemetry import context, trace

            self._outside = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        SESSION.reset(self._outer)
        if self._span is not None:
            from opentelemetry import context

            context.detach(self._outside)
        self._left(error)

    @contextmanager
    def lasting(self) -> Generator[Self]:
        """Lasts until it is left, without being current."""
        try:
            yield self
        except BaseException as error:
            self._left(error)
            raise
        self._left(None)

    def _left(self, error: BaseException | None) -> None:
        self.ended(error)
        if self._span is not None:
            if error is not None:
                self.failed(error_type(error))
            self._span.end()

    def ended(self, error: BaseException | None) -> None:
        """What is told at the end, by those who have something to tell."""

    @property
    def ms(self) -> int:
        """How long it has taken so far."""
        return round((perf_counter() - self._begun) * 1000)

    @property
    def is_recorded(self) -> bool:
        """Whether there is a span that keeps what it is told: most programs have none, and samplers drop many."""
        return self._span is not None and self._span.is_recording()

    @property
    def has_content(self) -> bool:
        """Whether what was written and said is wanted here."""
        return self._spans is not None and self._spans.content and self.is_recorded

    def tell(self, attributes: Mapping[str, Any]) -> None:
        """Adds attributes, but those that are `None`."""
        if self._span is not None:
            self._span.set_attributes(_known(attributes))

    def failed(self, why: str) -> None:
        """Marks the span as failed."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.set_attribute(names.ERROR, why)
            self._span.set_status(StatusCode.ERROR, why)

    @contextmanager
    def current(self) -> Generator[None]:
        """Makes the span the current one, and its session that of log lines."""
        outer = SESSION.set(self.session)
        try:
            if self._span is None:
                yield
                return
            from opentelemetry import trace

            with trace.use_span(self._span, record_exception=False, set_status_on_exception=False):
                yield
        finally:
            SESSION.reset(outer)

    def within(self, items: AsyncIterator[T]) -> AsyncIterator[T]:
        """The same items, each of them made inside `current`."""
        return _Within(self, items)


class _Within(Generic[T]):
    def __init__(self, work: Work, items: AsyncIterator[T]) -> None:
        self._work = work
        self._items = aiter(items)

    def __aiter__(self) -> _Within[T]:
        return self

    async def __anext__(self) -> T:
        with self._work.current():
            return await anext(self._items)


def error_type(error: BaseException) -> str:
    """A failure in one word: the kind of a provider's, the class of any other."""
    if not isinstance(error, Exception):
        return "cancelled"
    return error.kind if isinstance(error, ProviderError) else type(error).__name__


@lru_cache(maxsize=1)  # a program has one provider, and the SDK takes longer for this than for a span
def _tracer(provider: TracerProvider) -> Tracer:
    from importlib.metadata import version  # takes a while, and only programs with traces need it

    return provider.get_tracer("falai", version("falai"))


def _known(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
