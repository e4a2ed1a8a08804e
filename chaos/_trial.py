"""How a trial says what held and what did not."""


class TrialError(Exception):
    """What should have held did not."""


def expect(held: bool, sentence: str) -> None:
    print(f"  {'ok  ' if held else 'FAIL'} {sentence}", flush=True)
    if not held:
        raise TrialError(sentence)
