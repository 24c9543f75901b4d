"""nginx between the attack and the server, configured as docs/examples/nginx.conf is."""

import contextlib
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_EXAMPLE: Final = Path(__file__).parents[2] / "docs" / "examples" / "nginx.conf"
# Not an address from which anybody attacks or plays.
ADDRESS: Final = "127.0.0.99"
OPTIONS: Final = ("--trust-proxy", ADDRESS, "--no-metrics")  # of `palatinus serve`
_MAIN: Final = """\
worker_processes 1;
worker_rlimit_nofile 20000;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
events {{ worker_connections 10000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{site}
}}
"""
_SECONDS_TO_START: Final = 10.0


@contextlib.contextmanager
def nginx_before(port: int, folder: Path, certificate: Path | None, location: str = "/") -> Iterator[int]:
    """Run nginx in front of the server at `port`, which is found at `location`; yield its own port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        own = taken.getsockname()[1]
    site = _EXAMPLE.read_text(encoding="utf-8")
    site = re.sub(r"listen \[::\].*\n", "", site).replace("http://127.0.0.1:7733", f"http://127.0.0.1:{port}")
    site = site.replace("location /palatinus/", f"location {location}")
    if certificate is None:
        site = re.sub(r" *ssl_certificate.*\n", "", site).replace("listen 443 ssl", f"listen 127.0.0.1:{own}")
    else:
        site = re.sub(r"(ssl_certificate\w* +)\S+;", rf"\g<1>{certificate};", site)
        site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{own} ssl")
    with subprocess.Popen(nginx_command(folder, f"proxy_bind {ADDRESS};\n{site}")) as process:
        try:
            _wait_for(own, process)
            yield own
        finally:
            process.terminate()


def nginx_command(folder: Path, site: str) -> list[str]:
    """Write a configuration that serves `site` into the folder, and return the command that runs it."""
    configuration = folder / "nginx.conf"
    configuration.write_text(_MAIN.format(folder=folder, site=site), encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(configuration), "-e", "stderr"]


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise RuntimeError("nginx did not start")
