"""Traces of moves through OpenTelemetry, for a host who asks for them: how long each step has taken.

OpenTelemetry's own environment says whether they are sent, and where to (`OTEL_TRACES_EXPORTER`,
`OTEL_EXPORTER_OTLP_ENDPOINT` ...). Without it nothing is loaded, and a span costs a function call.

A span says only what everybody may know, and of errors only their kind: their text may name a hidden piece.
Nothing of a trace is ever sent to clients or to the database.
"""

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from server.errors import JournalError
from server.monitoring.logs import about
from server.version import VERSION, install_command

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")

_NAME: Final = "palatinus"
_NO_SPAN: Final = contextlib.nullcontext()
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTERS: Final = "opentelemetry_traces_exporter"  # the group of the packages' entry points
_SECONDS_TO_SEND: Final = 2.0  # what is left at the end

_tracer: "Tracer | None" = None


def span(name: str) -> AbstractContextManager[object]:
    """Return the context of a step, which is traced if it is one of a move."""
    if _tracer is None:
        return _NO_SPAN
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - loaded by now

    return _step(_tracer, name) if get_current_span().is_recording() else _NO_SPAN


def move_span(kind: str, code: str | None) -> AbstractContextManager[object]:
    """Return the context of a whole move at the table `code`, None if it is private."""
    if _tracer is None:
        return _NO_SPAN
    from opentelemetry.context import Context  # noqa: PLC0415 - loaded by now

    facts = {"palatinus.move": kind}
    if code is not None:
        facts["palatinus.table"] = code
    # A trace of its own: what falls due runs in the context of the move that it was set for.
    return _step(_tracer, "move", facts, Context())


def traced(name: str, step: Callable[P, T]) -> Callable[P, T]:
    """Return `step` as it is, or so that it is done in its span."""
    if _tracer is None:
        return step

    def done_in_span(*args: P.args, **kwargs: P.kwargs) -> T:
        with span(name):
            return step(*args, **kwargs)

    return done_in_span


def traced_step(name: str, step: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    """Return `step` as it is, or in its span."""
    return step if _tracer is None else _in_span(step, span(name))


def traced_move(move: Coroutine[Any, Any, T], kind: str, code: str | None) -> Coroutine[Any, Any, T]:
    """Return `move` as it is, or in its span: see `move_span`."""
    return move if _tracer is None else _in_span(move, move_span(kind, code))


async def _in_span(work: Coroutine[Any, Any, T], its_span: AbstractContextManager[object]) -> T:
    with its_span:
        return await work


@contextlib.contextmanager
def _step(
    tracer: "Tracer", name: str, facts: Mapping[str, str] | None = None, context: "Context | None" = None
) -> Iterator[None]:
    """Trace a step in a span that never learns what an exception says."""
    from opentelemetry.trace import StatusCode  # noqa: PLC0415 - loaded by now

    with tracer.start_as_current_span(
        name, context, attributes=facts, record_exception=False, set_status_on_exception=False
    ) as found:
        try:
            yield
        except BaseException as error:
            found.set_attribute("error.type", type(error).__name__)
            if isinstance(error, JournalError):
                found.set_status(StatusCode.ERROR)
            raise


@contextlib.contextmanager
def trace_with(tracer: "Tracer") -> Iterator[None]:
    """Trace with `tracer` until the context ends."""
    global _tracer  # noqa: PLW0603 - as OpenTelemetry's own tracer: for the whole process
    before, _tracer = _tracer, tracer
    try:
        yield
    finally:
        _tracer = before


@contextlib.contextmanager
def traced_as_asked(node: str) -> Iterator[None]:
    """Trace until the context ends, if the environment asks for it; `node` names this server.

    What cannot be done is logged: games do not depend on it.
    """
    if (tracer := _tracer_of_agent()) is not None:
        with trace_with(tracer):
            yield
        return
    try:
        provider = _provider(node)
    except Exception as error:  # noqa: BLE001 - whatever a package of others raises about its environment
        log.warning("traces are not sent", extra=about(reason=str(error) or type(error).__name__))
        provider = None
    if provider is None:
        yield
        return
    log.info("traces are sent", extra=about(exporters=", ".join(_exporter_names())))
    try:
        with trace_with(provider.get_tracer(_NAME)):
            yield
    finally:
        # A collector that does not answer must not keep the process; the threads are daemons.
        sending = threading.Thread(target=provider.shutdown, name="traces", daemon=True)
        sending.start()
        sending.join(_SECONDS_TO_SEND)


def _tracer_of_agent() -> "Tracer | None":
    """Return a tracer if the program was started by something that has set OpenTelemetry up."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # noqa: PLC0415 - few servers have it

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider.get_tracer(_NAME)


def _provider(node: str) -> "TracerProvider | None":
    """Return what the environment asks for; raises whatever is wrong with that."""
    if not (names := _exporter_names()):
        return None
    try:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - few servers have it
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ModuleNotFoundError:
        raise LookupError(f"they need packages: {install_command('traces')}") from None
    exporters = [_exporter(name) for name in names]
    own = {
        "service.name": os.environ.get("OTEL_SERVICE_NAME") or _NAME,
        "service.instance.id": node,
        "service.version": VERSION,
    }
    provider = TracerProvider(resource=Resource.create(own), shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _exporter_names() -> list[str]:
    environ = os.environ
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    usual = "otlp" if any(environ.get(name) for name in _ENDPOINTS) else ""
    asked = environ.get("OTEL_TRACES_EXPORTER") or usual
    return [name for each in asked.split(",") if (name := each.strip()) not in ("", "none")]


def _exporter(name: str) -> "SpanExporter":
    """Return the exporter with this name; raises LookupError if there is none."""
    if name == "otlp":
        protocol = next(filter(None, map(os.environ.get, _PROTOCOLS)), "http/protobuf")
        name = f"otlp_proto_{protocol.partition('/')[0]}"
    for found in entry_points(group=_EXPORTERS, name=name):
        exporter: SpanExporter = found.load()()
        return exporter
    raise LookupError(f"there is no exporter {name!r}: {install_command('traces')}")
