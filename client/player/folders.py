"""Where a player's games are kept."""

from pathlib import Path

from platformdirs import user_data_path


def data_folder() -> Path:
    """Return where everything is kept unless an option names another folder."""
    return user_data_path("palatinus", appauthor=False)
