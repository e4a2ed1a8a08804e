"""The right to run on a line on which only one call may run at a time (`own_lines`, rule 3).

It is given up while a person is asked, and taken again before the answer goes on.
"""

import asyncio

from callgate.model.reply import Answer, Asking, Withdrawn
from callgate.upstreams.link.line import Line

# A server may ask several things at once: what follows a question this soon is of the same call, so nobody
# else may run yet.
_MORE_QUESTIONS_S = 0.05


class Turn:
    def __init__(self, line: Line) -> None:
        self.line = line
        self._is_held = True
        self._is_parked = False
        # Open ones, as the server asked and as they were put, by the identity of the former.
        self._put: dict[int, tuple[Asking, Asking]] = {}
        self._answers: list[tuple[Asking, Answer]] = []
        self._taking: asyncio.Task[None] | None = None
        self._leaving: asyncio.TimerHandle | None = None

    def ask(self, question: Asking) -> Asking:
        """The question as its call's reader gets it."""
        if self._is_held:
            self._leave_soon()
        put = Asking(question.method, question.params, lambda answer: self._answered(question, answer))
        self._put[id(question)] = (question, put)
        return put

    def take_back(self, withdrawn: Withdrawn) -> Withdrawn:
        """The server's withdrawal, of the question as it was put."""
        _, put = self._put.pop(id(withdrawn.question), (None, withdrawn.question))
        return Withdrawn(put, withdrawn.params)

    def end(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
        self._stay()
        self._let_go(is_parked=False)

    def _park(self) -> None:
        self._leaving = None
        self._let_go(is_parked=True)

    def _leave_soon(self) -> None:
        self._stay()
        self._leaving = asyncio.get_running_loop().call_later(_MORE_QUESTIONS_S, self._park)

    def _stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _let_go(self, *, is_parked: bool) -> None:
        self.line.parked += int(is_parked) - int(self._is_parked)
        self._is_parked = is_parked
        if self._is_held:
            self._is_held = False
            self.line.turn.release()

    def _answered(self, question: Asking, answer: Answer) -> None:
        self._put.pop(id(question), None)
        if self._is_held:
            self._stay()
            question.respond(answer)
            return
        self._answers.append((question, answer))
        if self._taking is None:
            self._taking = asyncio.create_task(self._take())

    async def _take(self) -> None:
        await self.line.turn.acquire()
        self._is_held, self._taking = True, None
        self.line.parked -= int(self._is_parked)
        self._is_parked = False
        answers, self._answers = self._answers, []
        for question, answer in answers:
            question.respond(answer)
        if self._put:  # the server asked more while the call was parked
            self._leave_soon()
