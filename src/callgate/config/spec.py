"""What every spec is: a frozen value the operator wrote, with no key we do not know."""

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    # hide_input_in_errors: should a ValidationError ever escape, its text must not carry a password.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
