"""What all tests share."""

from hypothesis import HealthCheck, settings

# No deadline: on a busy machine time says nothing about the code.
settings.register_profile(
    "palatinus", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("palatinus")
