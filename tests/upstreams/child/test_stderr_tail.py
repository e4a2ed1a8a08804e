"""What is kept of a child's stderr."""

from hypothesis import given
from hypothesis import strategies as st

from callgate.upstreams.child.child import MAX_LINE_CHARS, MAX_LINES, StderrTail


def test_a_flood_does_not_grow_what_is_kept() -> None:
    tail = StderrTail()
    for _ in range(200):
        tail.feed(b"x" * 1_000_000)
        tail.feed(b"y\n" * 100_000)
        tail.feed((b"z" * 10_000 + b"\n") * 100)
    assert tail.kept_bytes <= (MAX_LINES + 1) * MAX_LINE_CHARS * 4
    assert tail.lines() == ["z" * MAX_LINE_CHARS] * MAX_LINES


def test_colours_and_control_characters_do_not_reach_the_reader() -> None:
    tail = StderrTail()
    tail.feed(b"\x1b[1;31mError\x1b[0m:\tbad \x1b]0;title\x07key\x00\x7f \xe2\x80\xaeevil\r\n")
    assert tail.lines() == ["Error: bad key evil"]


def test_lines_with_nothing_to_read_take_no_place() -> None:
    tail = StderrTail()
    tail.feed(b"\n\n  \r\n\x1b[0m\nword\n\n")
    assert tail.lines() == ["word"]


@given(
    lines=st.lists(st.text("abcü ", min_size=1).map(lambda s: f"[{s}]"), max_size=120),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=50),
)
def test_the_last_lines_are_the_same_however_the_bytes_are_cut(lines: list[str], cuts: list[int]) -> None:
    data = "\n".join(lines).encode()
    tail = StderrTail()
    while data:
        for size in cuts:
            tail.feed(data[:size])
            data = data[size:]
    assert tail.lines() == [line[:MAX_LINE_CHARS] for line in lines[-MAX_LINES:]]
