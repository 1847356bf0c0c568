"""The same examples in every run: what fails here fails everywhere."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "course",
    derandomize=True,
    deadline=None,  # no test measures time
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("course")
