"""Properties are tested with the same examples on every machine, however slow it is.

`pytest --hypothesis-profile explore` tries other examples in every run.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("explore"), derandomize=True)
settings.load_profile("same")
