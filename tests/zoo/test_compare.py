"""A zoo that finds nothing must be able to find something."""

from zoo.compare import Difference, compare, explained

ANSWER = {"call": {"result": {"content": [{"type": "text", "text": "at 10:00"}]}}}
LATER = {"call": {"result": {"content": [{"type": "text", "text": "at 11:00"}]}}}


def test_an_answer_that_is_not_the_direct_one_is_a_difference() -> None:
    found = compare(ANSWER, ANSWER, LATER)
    assert (found.same, found.alike) == (0, 0)
    (difference,) = found.differences
    assert "10:00" in difference.excerpts()[0]
    assert "11:00" in difference.excerpts()[1]


def test_the_order_of_keys_is_part_of_an_answer() -> None:
    assert compare({"a": {"x": 1, "y": 2}}, {"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}).differences


def test_a_step_that_was_not_taken_is_a_difference() -> None:
    assert [each.step for each in compare(ANSWER, ANSWER, {}).differences] == ["call"]
    assert [each.step for each in compare({}, {}, ANSWER).differences] == ["call"]


def test_what_changes_from_run_to_run_directly_is_compared_by_its_shape() -> None:
    assert (
        compare(ANSWER, LATER, {"call": {"result": {"content": [{"type": "text", "text": "?"}]}}}).alike == 1
    )
    assert compare(ANSWER, LATER, {"call": {"error": {"message": "?"}}}).differences


def test_what_the_manifest_scrubs_is_not_compared() -> None:
    assert compare(ANSWER, ANSWER, LATER, [r"\d\d:\d\d"]).same == 1


def test_an_explanation_holds_only_for_what_it_speaks_of() -> None:
    known = {"of": "git", "step": "tools", "direct": "1", "through": r"^\[\]$", "because": "It is so."}
    assert explained("git", "/mcp", Difference("tools", "[1]", "[]"), [known]) == ("It is so.",)
    assert explained("time", "/mcp", Difference("tools", "[1]", "[]"), [known]) == ()
    assert explained("git", "/mcp", Difference("tools", "[1]", "[2]"), [known]) == ()
    assert explained("git", "/mcp", Difference("call", "[1]", "[]"), [known]) == ()


def test_a_field_that_is_left_out_does_not_excuse_a_tool_that_is_missing() -> None:
    field = {"of": "*", "step": "tools", "scrub": ', "old": 1', "because": "The field is gone."}
    order = {"of": "*", "step": "tools", "sorted": True, "because": "The order is another."}
    whole, short = '[{"a": 1, "old": 1}, {"b": 1, "c": 2}]', '[{"a": 1}, {"b": 1, "c": 2}]'
    turned, missing = '[{"a": 1}, {"c": 2, "b": 1}]', '[{"a": 1}]'
    assert explained("x", "/mcp", Difference("tools", whole, short), [field]) == ("The field is gone.",)
    assert explained("x", "/mcp", Difference("tools", whole, turned), [field]) == ()
    both = explained("x", "/mcp", Difference("tools", whole, turned), [field, order])
    assert both == ("The field is gone.", "The order is another.")
    assert explained("x", "/mcp", Difference("tools", whole, missing), [field, order]) == ()
