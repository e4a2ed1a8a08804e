"""What a request costs inside a connection (ask and receive), with 100 and with 10,000 in flight."""

import random
import statistics
import time

from callgate.wire.connection.connection import Connection
from callgate.wire.connection.events import Answered, Send

FEW, MANY = 100, 10_000
REQUESTS = 20_000
ROUNDS = 9
PARAMS = b'{"name":"query","arguments":{"query":"SELECT count(*) FROM shop.orders"}}'
WITH_TOKEN = PARAMS[:-1] + b',"_meta":{"progressToken":"abc"}}'
RESULT = b'{"content":[{"type":"text","text":"[[4711]]"}],"isError":false}'


class Crowd:
    """A ready connection with a constant number of requests in flight, answered in random order."""

    def __init__(self, in_flight: int, params: bytes) -> None:
        self.params = params
        self.connection = Connection(random.random)
        self.connection.opened()
        self.connection.ready(0.0)
        self.now = 0.0
        self.open = [self.ask() for _ in range(in_flight)]

    def ask(self) -> int:
        sent = self.connection.ask("tools/call", self.params, None, None, self.now)
        assert isinstance(sent, Send)
        return sent.rpc_id

    def cpu_us(self) -> float:
        """Per request, of the connection alone: the frames of the answers are made before."""
        first = max(self.open) + 1
        waiting = [*self.open, *range(first, first + REQUESTS)]
        # Each step asks once, then answers one of those that are open: shuffled within windows that are.
        size = len(self.open)
        for start in range(0, REQUESTS, size):
            window = waiting[start : start + size]
            random.shuffle(window)
            waiting[start : start + size] = window
        answers = [b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (i, RESULT) for i in waiting[:REQUESTS]]
        connection, params, now = self.connection, self.params, self.now
        begun = time.process_time()
        for answer in answers:
            now += 0.0001  # ten thousand requests a second: the clock moves, and nothing times out
            connection.ask("tools/call", params, None, None, now)
            [event] = connection.receive(answer, None, now)
            connection.next_deadline()
            assert type(event) is Answered
        elapsed_s = time.process_time() - begun
        self.now = now
        self.open = waiting[REQUESTS:]
        assert connection.in_flight == size
        return elapsed_s / REQUESTS * 1e6


def compare(what: str, params: bytes) -> None:
    few, many = Crowd(FEW, params), Crowd(MANY, params)
    rounds = [(few.cpu_us(), many.cpu_us()) for _ in range(ROUNDS + 1)][1:]  # the first one warms up
    few_us = statistics.median(cost for cost, _ in rounds)
    many_us = statistics.median(cost for _, cost in rounds)
    ratio = statistics.median(with_many / with_few for with_few, with_many in rounds)
    print(f"{what:22} {FEW:6,} in flight  {few_us:5.2f} µs CPU a request")
    print(f"{'':22} {MANY:6,} in flight  {many_us:5.2f} µs CPU a request   ratio {ratio:.2f}")


def main() -> None:
    compare("tools/call", PARAMS)
    compare("with a progress token", WITH_TOKEN)


if __name__ == "__main__":
    main()
