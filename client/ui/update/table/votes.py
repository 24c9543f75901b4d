"""Votes on whether a bot plays for an absent player."""

from client.tables.table import TableModel
from client.ui.update import requests


def next_vote(model: TableModel) -> requests.Vote | None:
    """Return the vote of the vote key: for the first player not voted on yet, or else a vote taken back."""
    if model.state is None or model.seat is None:
        return None
    open_seats = [
        seat
        for seat, summary in enumerate(model.state.seats)
        if summary.votes_needed and not summary.bot and seat != model.seat
    ]
    for seat in open_seats:
        if model.seat not in model.state.seats[seat].votes:
            return requests.Vote(seat, agree=True)
    return requests.Vote(open_seats[0], agree=False) if open_seats else None
