"""What `palatinus serve` says in notices to players who are away, and how it sends them."""

from urllib.parse import urlsplit

from client.language import N_, WrongUse, _, language_among, speaking
from client.ui.texts.times import span
from commands.arguments import SMTP_PASSWORD_VARIABLE, password_of
from commands.serving.options import ServeOptions
from server.config import PlayerNotice, Postman

_SMTP_PORTS = {"smtp": 587, "smtps": 465}
_HOUR, _MINUTE = 3600, 60
_SUBJECTS = {
    "confirm": N_("Palatinus: is this your address?"),
    "turn": N_("Palatinus: your turn at table {table}"),
    "short": N_("Palatinus: your time at table {table} runs out"),
    "resumed": N_("Palatinus: the game at table {table} continues"),
    "over": N_("Palatinus: the game at table {table} is over"),
}


def postman(chosen: ServeOptions) -> Postman | None:
    """Return who sends notices, None if nobody does; raises WrongUse."""
    if not chosen.notify:
        return None
    from server.net.postman import NoticePostman, SmtpServer

    smtp = None
    if chosen.smtp is not None and chosen.smtp_from is not None:
        url = urlsplit(chosen.smtp)
        smtp = SmtpServer(
            url.hostname or "",
            url.port or _SMTP_PORTS[url.scheme],
            chosen.smtp_from,
            url.username or "",
            password_of(chosen.smtp_password_file, SMTP_PASSWORD_VARIABLE) or "" if url.username else "",
            implicit_tls=url.scheme == "smtps",
        )
    found = NoticePostman(chosen.notify, smtp, wording=wording)
    if "mail" in found.kinds and smtp is None:
        raise WrongUse(_("--notify mail needs --smtp and --smtp-from"))
    return found


def wording(language: str, server: str, notice: PlayerNotice) -> tuple[str, str]:
    """Return subject and text of a notice in a player's language, with the command to come back."""
    with speaking(language_among([language])):
        subject = _(_SUBJECTS[notice.kind]).format(table=notice.table)
        if notice.kind == "confirm":
            form = _(
                "Someone at table {table} wants to be notified here when it is their turn. If that is you, "
                "type there: notify {digits}. If not, ignore this: you will not hear from us again."
            )
            return subject, form.format(table=notice.table, digits=notice.digits) + "\n"
        lines = [f"{subject}."]
        if (seconds := notice.seconds) is not None:
            whole = seconds - seconds % (_HOUR if seconds > _HOUR else _MINUTE)
            lines.append(_("Time left: {time}.").format(time=span(whole)))
        return subject, "\n".join(
            [*lines, _("Come back with:"), f"  palatinus join {server} {notice.table}", ""]
        )
