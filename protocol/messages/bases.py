"""What the messages have in common: a tag, what becomes of unknown fields, and a repr without secrets."""

from msgspec import Struct
from msgspec.structs import asdict

_SECRETS = frozenset({"token", "tokens", "password", "proof", "share"})


def hiding_secrets(struct: Struct) -> str:
    """Return the repr of a struct without its secrets, for whatever ends up in a log or a traceback."""
    values = asdict(struct).items()
    shown = (f"{name}={'...' if name in _SECRETS and value else repr(value)}" for name, value in values)
    return f"{type(struct).__name__}({', '.join(shown)})"


class FromClient(Struct, frozen=True, tag_field="t", forbid_unknown_fields=True):
    """What a client sends: unknown fields are refused."""


class FromServer(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """What a server sends: unknown fields are ignored, so that a newer server can add some."""
