import pytest

from callgate.config.secret import mask_args, mask_named, mask_url, secrets_among


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "Cookie", "PASSWORD", "client_secret"])
def test_a_secret_looking_name_masks_its_value(name: str) -> None:
    assert mask_named(name, "plain") == "***"


def test_a_harmless_header_is_shown() -> None:
    assert mask_named("Accept", "application/json") == "application/json"


@pytest.mark.parametrize("value", ["Bearer abc", "basic abc", "ghp_abc", "sk-abc"])
def test_a_secret_looking_value_is_masked_under_any_name(value: str) -> None:
    assert mask_named("X-Thing", value) == "***"


def test_an_address_is_shown_without_its_user_query_and_fragment() -> None:
    assert (
        mask_url("https://u:hunter2@h:1/mcp?key=hunter3&a=b#hunter4")
        == "https://***@h:1/mcp?key=***&a=***#***"
    )


def test_a_fragment_after_the_query_is_not_shown() -> None:
    assert "hunter2" not in mask_url("https://h/mcp?a=1#hunter2")


@pytest.mark.parametrize("password", ["hunter2/hunter2", "a@hunter2"])
def test_an_unescaped_password_is_masked_whole(password: str) -> None:
    assert mask_url(f"https://u:{password}@h/mcp") == "https://***@h/mcp"


@pytest.mark.parametrize(
    "rest", ["u:hunter2?hunter2@h/mcp", "u:hunter2#hunter2@h/mcp", "u:x@h/mcp?key=hunter2@hunter2"]
)
def test_where_nobody_can_tell_what_the_last_at_sign_ends_nothing_is_shown(rest: str) -> None:
    assert mask_url(f"https://{rest}") == "https://***"


def test_an_address_without_secrets_is_shown_as_it_is() -> None:
    assert mask_url("https://api.example/mcp/") == "https://api.example/mcp/"


def test_secrets_among_arguments_are_masked() -> None:
    args = [
        "-y",
        "server",
        "--api-key",
        "hunter2",
        "--token=hunter3",
        "--url=pg://u:hunter4@h/d",
        "pg://hunter5@h",
    ]
    shown = mask_args(args)
    assert "hunter" not in " ".join(shown)
    assert shown[:3] == ["-y", "server", "--api-key"]
    assert len(shown) == len(args)


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--header", "Authorization: Bearer hunter2"], ["--header", "Authorization: ***"]),
        (["-H", "X-Thing: hunter2"], ["-H", "X-Thing: ***"]),
        (["-H", "hunter2"], ["-H", "***"]),
        (["--header=X-Thing: hunter2"], ["--header=X-Thing: ***"]),
        (["-HX-Thing:hunter2"], ["-HX-Thing:***"]),
        (["X-Api-Key:hunter2"], ["X-Api-Key:***"]),
        (["Authorization:Bearer hunter2"], ["Authorization:***"]),
        (["Authorization: hunter2"], ["Authorization: ***"]),
        (["-e", "API_KEY=hunter2"], ["-e", "API_KEY=***"]),
        (["--env=GITHUB_TOKEN=hunter2"], ["--env=GITHUB_TOKEN=***"]),
        (['{"apiKey": "hunter2"}'], ['{"apiKey": ***']),
        (["X-Thing: Bearer hunter2"], ["***"]),
        (["--token", "-hunter2"], ["--token", "***"]),
        (["u:hunter2@h token=hunter2"], ["***token=***"]),
        (["https://u:hunter2@h/x Authorization: hunter2"], ["https://***@h/x Authorization: ***"]),
    ],
)
def test_a_secret_among_arguments_is_masked_behind_its_name(args: list[str], shown: list[str]) -> None:
    assert mask_args(args) == shown


def test_arguments_without_secrets_are_shown_as_they_are() -> None:
    args = [
        "-y",
        "@scope/server",
        "-h",
        "localhost",
        "--port=80",
        "https://auth.example:8080/x",
        "C:\\a",
        "a:b",
    ]
    assert mask_args(args) == args


def test_the_secrets_of_an_entry_are_found_by_name_and_by_look() -> None:
    env = {"API_KEY": "hunter2-of-env", "MODE": "production", "AUTH": "Bearer hunter2-of-auth"}
    args = ["--token=hunter2-of-arg", "--folder=/srv/data", "--password", "hunter2-behind", "plain"]
    found = set(secrets_among(env, args))
    assert {"hunter2-of-env", "Bearer hunter2-of-auth", "hunter2-of-arg", "hunter2-behind"} <= found
    assert not found & {"production", "plain", "/srv/data", "--folder=/srv/data"}
