"""What decides who gets in, and may change while the server runs: the certificate, the password, proxies."""

from dataclasses import dataclass, field

from server.config import Config
from server.errors import StartError
from server.net.certificate import Certificate, load_certificate
from server.net.proxies import TrustedProxies


@dataclass(slots=True)
class Access:
    """The certificate, None without TLS, and the password, None without one, for all new connections.

    `proxies` are those that name the clients they connect for.
    """

    certificate: Certificate | None
    password: str | None
    proxies: TrustedProxies = field(default_factory=TrustedProxies)

    @classmethod
    def of(cls, config: Config) -> "Access":
        """Return what the configuration says; raises StartError if a file cannot be used. May block."""
        if config.tls_cert is None and config.tls_key is not None:
            raise StartError("--tls-key needs --tls-cert as well")
        certificate = None if config.tls_cert is None else load_certificate(config.tls_cert, config.tls_key)
        proxies = TrustedProxies(config.trusted_proxies, config.proxy_header)
        return cls(certificate, config.password, proxies)

    def renew(self, new: "Access") -> None:
        """Replace everything; raises StartError and replaces nothing if clients could not follow."""
        if (self.certificate is None) is not (new.certificate is None):
            raise StartError("TLS can be turned on or off only by a restart")
        self.certificate, self.password, self.proxies = new.certificate, new.password, new.proxies

    def warn(self) -> None:
        """Log what the host should know about the certificate."""
        if self.certificate is not None:
            self.certificate.warn()
