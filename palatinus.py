"""The command line: the one place that knows both server and client."""


def main() -> int:
    """Run the command line and return its exit code."""
    return 0
