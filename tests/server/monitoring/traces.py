"""What is traced, as tests see it."""

import contextlib
from collections.abc import Iterator

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from server.monitoring.tracing import trace_with


class Traces:
    """The traces of all moves so far."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def moves(self) -> list[tuple[ReadableSpan, list[ReadableSpan]]]:
        """Return each move with its steps, in order."""
        spans = self._exporter.get_finished_spans()
        moves = [span for span in spans if span.parent is None]
        return [(move, [step for step in spans if step.parent == move.context]) for move in moves]

    def lines(self) -> list[str]:
        """Return all that spans say, but for times, identities and the codes of tables."""
        return [_said(span) for move, steps in self.moves() for span in (move, *steps)]


def _said(span: ReadableSpan) -> str:
    facts = [f"{name}={value!r}" for name, value in sorted((span.attributes or {}).items())]
    status = [str(span.status.status_code), str(span.status.description)]
    shown = [fact for fact in facts if not fact.startswith("palatinus.table")]
    return ", ".join([span.name, *shown, *(event.name for event in span.events), *status])


@contextlib.contextmanager
def traces() -> Iterator[Traces]:
    """Trace the moves at all servers of this process while the context lasts."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with trace_with(provider.get_tracer("test")):
        yield Traces(exporter)
