"""What the server says about itself: log lines, counts, traces, and how failures are contained."""
