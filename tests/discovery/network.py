"""Networks that belong to one test alone: nothing that it sends leaves them."""

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


@contextlib.contextmanager
def own_network(*, loopback: bool = True) -> Iterator[int]:
    """Let this thread be in a network namespace of its own, with no more than loopback; yield a handle to it.

    Programs that it starts in the meantime are there too. Skips the test where that is not allowed.
    """
    if sys.platform != "linux":
        pytest.skip("there are no network namespaces here")
    libc = ctypes.CDLL(None, use_errno=True)
    with _handle() as before:
        if libc.unshare(_NEW_NETWORK):
            pytest.skip(f"no network namespace: {errno.errorcode[ctypes.get_errno()]}")
        try:
            if loopback:
                _loopback_up()
            with _handle() as made:
                yield made
        finally:
            assert not libc.setns(before, _NEW_NETWORK)


@contextlib.contextmanager
def inside(handle: int) -> Iterator[None]:
    """Let this thread be in another network namespace for a while."""
    libc = ctypes.CDLL(None, use_errno=True)
    with _handle() as before:
        assert not libc.setns(handle, _NEW_NETWORK)
        try:
            yield
        finally:
            assert not libc.setns(before, _NEW_NETWORK)


@contextlib.contextmanager
def _handle() -> Iterator[int]:
    """Yield a handle to the namespace that this thread is in."""
    handle = os.open(Path("/proc/thread-self/ns/net"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(asking, _GET_FLAGS, request))[1]
        fcntl.ioctl(asking, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))
