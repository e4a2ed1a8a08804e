"""How a field's own rule says no: a pydantic error that carries our sentence and our hint.

Must not carry the input: the sentence is made with `problem.shown` or without the value. `explain` reads it.
"""

from pydantic_core import PydanticCustomError

REFUSAL_TYPE = "callgate_refusal"


def refusal(message: str, hint: str = "") -> PydanticCustomError:
    # The text goes in as context, not as a template: a `{` in it would otherwise be read as a placeholder.
    return PydanticCustomError(REFUSAL_TYPE, "{message}", {"message": message, "hint": hint})
