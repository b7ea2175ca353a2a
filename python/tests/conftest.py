import hypothesis

# One example of a property takes milliseconds; a shared machine can make any of them slow.
hypothesis.settings.register_profile(
    "espalier", max_examples=60, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("espalier")
