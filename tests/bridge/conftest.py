"""A scenario's assertions tell what they compared, as a test's own do."""

import pytest

pytest.register_assert_rewrite("bridge.scenarios", "bridge.seat", "bridge.asking_client")
