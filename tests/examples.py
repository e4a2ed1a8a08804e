"""How many examples a property gets: few in the suite, many with `scripts/fuzz properties`."""

import os


def examples(in_the_suite: int) -> int:
    return in_the_suite * int(os.environ.get("EXAMPLES_TIMES", "1"))
