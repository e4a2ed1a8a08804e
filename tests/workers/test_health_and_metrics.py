"""What several workers say of themselves, as one answer."""

import json

from callgate.api.merged_health import problems_of_workers
from callgate.api.metrics import by_worker

ONE = b"""# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{server="a \\"b\\" {c}"} 3
# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{le="+Inf"} 3
took_seconds_sum 0.5
took_seconds_count 3
"""
OTHER = b"""# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{server="a"} 4
"""


def test_samples_of_one_metric_stand_together_each_with_its_worker() -> None:
    assert by_worker({0: ONE, 1: OTHER, 2: None}).splitlines() == [
        "# HELP callgate_worker_up Whether a worker answers.",
        "# TYPE callgate_worker_up gauge",
        'callgate_worker_up{worker="0"} 1',
        'callgate_worker_up{worker="1"} 1',
        'callgate_worker_up{worker="2"} 0',
        "# HELP calls_total Calls.",
        "# TYPE calls_total counter",
        r'calls_total{server="a \"b\" {c}",worker="0"} 3',
        'calls_total{server="a",worker="1"} 4',
        "# HELP took_seconds How long.",
        "# TYPE took_seconds histogram",
        'took_seconds_bucket{le="+Inf",worker="0"} 3',
        'took_seconds_sum{worker="0"} 0.5',
        'took_seconds_count{worker="0"} 3',
    ]


def test_what_is_wrong_in_a_worker_is_told_with_its_number() -> None:
    down = {"name": "shop", "state": "down", "detail": "refused"}
    starting = {"name": "late", "state": "starting", "detail": ""}
    told = {
        1: json.dumps({"status": "ok", "servers": []}).encode(),
        2: json.dumps(
            {
                "status": "degraded",
                "servers": [down, starting],
                "record": "full disk",
                "problems": ["a thread"],
            }
        ).encode(),
        3: None,
    }
    assert problems_of_workers(told) == [
        "Worker 2: a thread",
        "Worker 2: full disk",
        "Worker 3 does not answer. It is started again when it ends",
    ]
