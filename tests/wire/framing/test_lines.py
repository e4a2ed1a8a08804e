"""Line framing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.errors import CallerError
from callgate.wire.framing.lines import LineSplitter, flat


@given(
    frames=st.lists(st.binary(min_size=1, max_size=30).filter(lambda b: b"\n" not in b and b.strip() == b)),
    cuts=st.lists(st.integers(0, 400)),
)
def test_frames_do_not_depend_on_how_the_bytes_were_cut(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frame + b"\n" for frame in frames)
    borders = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    splitter = LineSplitter()
    got = [frame for start, end in itertools.pairwise(borders) for frame in splitter.feed(stream[start:end])]
    assert got == frames


def test_blank_lines_and_carriage_returns_are_not_frames() -> None:
    assert LineSplitter().feed(b"\r\n\n  \n{}\r\n") == [b"{}"]


def test_a_line_without_end_is_refused_at_the_limit_not_collected() -> None:
    splitter = LineSplitter(max_frame_bytes=100)
    splitter.feed(b"x" * 90)
    with pytest.raises(CallerError) as caught:
        splitter.feed(b"x" * 20)
    assert caught.value.code.code == "caller.too_large"


def test_flattening_changes_white_space_between_tokens_only() -> None:
    assert flat(b'{\r\n "a": "b\\n"}') == b'{   "a": "b\\n"}'
    assert flat(b"{}") == b"{}"
