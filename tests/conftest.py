"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# compiled functions compile on their first call, which no deadline should count
settings.register_profile("treecast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treecast")
