"""Where a request on the aggregate leads, decided from catalogs alone."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from callgate.model.errors import CallerError
from callgate.model.offers import OfferKind
from callgate.relay.choose_route import by_reference, by_uri, to_offer
from callgate.relay.lists.catalog import Catalog, Part, build_catalog
from callgate.relay.lists.read_listing import ListPage, ListReading, read_part
from callgate.relay.lists.territory import Territory
from callgate.wire.fault_of import fault_of
from callgate.wire.json_rpc import encode_error_object

TERRITORY = Territory(["one", "two"])


def catalog(kind: OfferKind, **by_server: list[str]) -> Catalog:
    return build_catalog(kind, [part(kind, server, names) for server, names in by_server.items()], {})


def part(kind: OfferKind, server: str, names: list[str]) -> Part:
    page = ListPage(msgspec.Raw(json.dumps([{kind.key: name} for name in names]).encode()), None, None, False)
    return asyncio.run(read_part(ListReading(kind, server, TERRITORY, 100), [page]))


TOOLS = catalog(OfferKind.TOOL, one=["echo", "a__b"], two=["echo"])
PROMPTS = catalog(OfferKind.PROMPT, one=["greet"], two=["greet"])
RESOURCES = catalog(OfferKind.RESOURCE, one=["file:///a"], two=["file:///a", "file:///b"])
TEMPLATES = catalog(
    OfferKind.TEMPLATE, one=["note://{id}", "tree://{+path}"], two=["note://{id}", "q://x{?a,b}"]
)


def raw(**params: Any) -> bytes:
    return json.dumps(params).encode()


@pytest.mark.parametrize(
    ("public", "server", "native"),
    [("one__echo", "one", "echo"), ("two__echo", "two", "echo"), ("one__a__b", "one", "a__b")],
)
def test_a_name_leads_to_its_server_under_its_own_name(public: str, server: str, native: str) -> None:
    route, params = to_offer(TOOLS.by_public_name[public], raw(name=public))
    assert route.upstream == server
    assert json.loads(params) == {"name": native}


def test_only_the_name_is_rewritten() -> None:
    params = b'{"z":1.0,"name":"one__echo","arguments":{"b" : 1e400,"a":"\\u00e9\\/"},"n":9007199254740993}'
    _, routed = to_offer(TOOLS.by_public_name["one__echo"], params)
    assert routed == params.replace(b"one__echo", b"echo")


@pytest.mark.parametrize(
    ("uri", "server", "native"),
    [
        ("file:///a", "one", "file:///a"),
        ("two+file:///a", "two", "file:///a"),
        ("file:///b", "two", "file:///b"),
        ("note://7", "one", "note://7"),
        ("two+note://7", "two", "note://7"),
        ("tree://a/b/c", "one", "tree://a/b/c"),
        ("q://x?a=1&b=2", "two", "q://x?a=1&b=2"),
        ("q://x", "two", "q://x"),
    ],
)
def test_a_uri_leads_to_the_server_that_lists_it_or_has_a_template_for_it(
    uri: str, server: str, native: str
) -> None:
    route, params = by_uri(raw(uri=uri), RESOURCES, TEMPLATES, TERRITORY)
    assert route.upstream == server
    assert json.loads(params)["uri"] == route.native_name == native


@pytest.mark.parametrize("uri", ["note://7/8", "file:///c", "xnote://7", "two+tree://a", ""])
def test_a_uri_nobody_has_is_told_with_the_uri(uri: str) -> None:
    with pytest.raises(CallerError) as caught:
        by_uri(raw(uri=uri), RESOURCES, TEMPLATES, TERRITORY)
    assert caught.value.code.code == "caller.unknown_resource"
    assert caught.value.data == {"uri": uri}


@pytest.mark.parametrize(
    ("ref", "server", "native"),
    [
        (
            {"type": "ref/prompt", "name": "two__greet", "title": "T"},
            "two",
            {"type": "ref/prompt", "name": "greet", "title": "T"},
        ),
        (
            {"type": "ref/resource", "uri": "two+note://{id}"},
            "two",
            {"type": "ref/resource", "uri": "note://{id}"},
        ),
    ],
)
def test_a_reference_leads_to_what_it_points_at(
    ref: dict[str, str], server: str, native: dict[str, str]
) -> None:
    route, params = by_reference(raw(ref=ref, argument={"name": "a", "value": "b"}), PROMPTS, TEMPLATES)
    assert route.upstream == server
    assert json.loads(params)["ref"] == native


@pytest.mark.parametrize(
    "params",
    [
        b"", b"{}", b'{"ref":null}', b'{"ref":"x"}', b'{"ref":[1]}', b'{"ref":5}', b'{"ref":{}}',
        b'{"ref":{"type":"ref/tool"}}', b'{"ref":{"type":"ref/prompt"}}',
        b'{"ref":{"type":"ref/prompt","name":{"a":1}}}', b'{"ref":{"type":["ref/prompt"]}}',
    ],
)  # fmt: skip
def test_a_reference_to_nothing_is_the_callers_error(params: bytes) -> None:
    with pytest.raises(CallerError):
        by_reference(params, PROMPTS, TEMPLATES)


@pytest.mark.parametrize("params", [b"", b"{}", b'{"name":1}', b'{"name":null}', b'{"uri":{}}'])
def test_a_request_without_a_uri_is_the_callers_error(params: bytes) -> None:
    with pytest.raises(CallerError) as caught:
        by_uri(params, RESOURCES, TEMPLATES, TERRITORY)
    assert caught.value.code.code == "caller.bad_params"


@pytest.mark.parametrize("name", [{f"k{n}": 1 for n in range(100_000)}, "n" * 1_000_000, ["x"] * 100_000])
def test_a_reference_of_any_size_is_a_short_error(name: Any) -> None:
    with pytest.raises(CallerError) as caught:
        by_reference(raw(ref={"type": "ref/prompt", "name": name}), PROMPTS, TEMPLATES)
    assert len(encode_error_object(fault_of(caught.value))) < 3_000


def test_a_uri_of_any_size_is_a_short_error() -> None:
    with pytest.raises(CallerError) as caught:
        by_uri(raw(uri="x://" + "u" * 1_000_000), RESOURCES, TEMPLATES, TERRITORY)
    assert len(encode_error_object(fault_of(caught.value))) < 5_000
