"""What all tests share."""

import os

from hypothesis import HealthCheck, settings

# Whatever language the computer speaks, what the tests read is English.
os.environ["LANGUAGE"] = "en"

# No deadline: on a busy machine time says nothing about the code.
settings.register_profile(
    "palatinus", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("palatinus")
