"""The least websocket client that a load generator needs, so that the measurement is not of the client."""

import os
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from typing import Final

import msgpack

HANDSHAKE: Final = (
    b"GET / HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_MASK: Final = os.urandom(4)
_BINARY: Final = 0x82
_PING: Final = 0x89
_PONG: Final = 0x8A
_EVENTS: Final = b"\xa1t\xa6events"  # how an events message begins, after the byte that counts its keys


class _Buffer(threading.local):
    """What all connections of a thread read into: making one for each read would take longer than it."""

    def __init__(self) -> None:
        self.bytes = bytearray(2**18)


_BUFFER: Final = _Buffer()


def page_handshake(path: str, language: str = "en") -> bytes:
    """Return how a browser opens the live page at `path`."""
    lines = f" {path} HTTP/1.1\r\nOrigin: http://bench\r\nAccept-Language: {language}\r\n"
    return HANDSHAKE.replace(b" / HTTP/1.1\r\n", lines.encode())


def framed(payload: bytes, opcode: int = _BINARY) -> bytes:
    """Return a client's frame around `payload` (RFC 6455, 5.2); payloads below 64 KiB."""
    masked = bytes(byte ^ _MASK[index % 4] for index, byte in enumerate(payload))
    if len(payload) < 126:
        return struct.pack("!BB", opcode, 0x80 | len(payload)) + _MASK + masked
    return struct.pack("!BBH", opcode, 0x80 | 126, len(payload)) + _MASK + masked


def packed(**message: object) -> bytes:
    """Return the frame of a message given by its fields; `t` is its tag."""
    return framed(msgpack.packb(message))


class Wire:
    """A blocking connection; counts the bytes both ways, frame headers included."""

    def __init__(self, port: int, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection((host, port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket)
        self.socket.sendall(HANDSHAKE)
        self.bytes_in = 0
        self.bytes_out = 0
        self._rest = b""
        while b"\r\n\r\n" not in self._rest:
            self._rest += self._received()
        head, self._rest = self._rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError(f"the server did not open a websocket: {head[:200]!r}")
        self._waiting: list[bytes] = []

    @classmethod
    def welcomed(cls, port: int, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> "Wire":
        """Return a connection that has said hello."""
        wire = cls(port, host, tls)
        wire.ask("welcome", t="hello", versions=[1], client="bench")
        return wire

    def ask(self, answer: str, **message: object) -> dict[str, object]:
        """Send a message and return the next one with the tag `answer`."""
        self.send(packed(**message))
        return self.expect(answer)

    def send(self, frame: bytes) -> None:
        self.bytes_out += len(frame)
        self.socket.sendall(frame)

    def heard(self) -> int:
        """Read once and return how many events messages are complete."""
        buffer = _BUFFER.bytes
        size = self.socket.recv_into(buffer)
        if size == buffer[1] + 2 and buffer[1] < 126 and not self._rest and buffer[0] == _BINARY:
            self.bytes_in += size
            return buffer[3:12] == _EVENTS
        return sum(payload[1:10] == _EVENTS for payload in self._complete(self._noted(size)))

    def frames(self) -> Iterator[bytes]:
        """Read once and yield the payloads of all frames that are complete."""
        return self._complete(self._received())

    def _complete(self, received: bytes) -> Iterator[bytes]:
        data = self._rest + received
        at, end = 0, len(data)
        while end - at >= 2:
            size, head = data[at + 1], 2
            if size == 126:
                if end - at < 4:
                    break
                size, head = (data[at + 2] << 8) | data[at + 3], 4
            elif size == 127:
                if end - at < 10:
                    break
                size, head = int.from_bytes(data[at + 2 : at + 10]), 10
            if end - at < head + size:
                break
            payload = data[at + head : at + head + size]
            if data[at] == _BINARY:
                yield payload
            elif data[at] == _PING:
                self.socket.sendall(framed(payload, _PONG))
            at += head + size
        self._rest = data[at:]

    def expect(self, tag: str) -> dict[str, object]:
        """Return the next message with this tag, skipping others."""
        while True:
            while self._waiting:
                message: dict[str, object] = msgpack.unpackb(self._waiting.pop(0))
                if message["t"] == tag:
                    return message
                if message["t"] == "refused":
                    raise ConnectionError(f"refused: {message['text']}")
            self._waiting.extend(self.frames())

    def close(self) -> None:
        self.socket.close()

    def _received(self) -> bytes:
        return self._noted(self.socket.recv_into(_BUFFER.bytes))

    def _noted(self, size: int) -> bytes:
        if size == 0:
            raise ConnectionError("the server closed the connection")
        self.bytes_in += size
        return bytes(memoryview(_BUFFER.bytes)[:size])
