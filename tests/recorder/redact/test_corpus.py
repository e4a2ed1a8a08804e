"""Secrets as they are written in the wild, and honest texts that look like them: all masked, none touched.

`corpus/` holds them: names, texts (⏎ is a line break, «» stand around a secret) and JSON documents. Each
name is tried in every form below.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.recorder.redact.redact import Redactor

CORPUS = Path(__file__).parents[1] / "corpus"
VALUE = "Zq81vTx4"
REDACTOR = Redactor()
MARKED = re.compile("«(.*?)»", re.DOTALL)


def lines(name: str) -> list[str]:
    return [line.replace("⏎", "\n") for line in (CORPUS / name).read_text().splitlines()]


def body(document: Any) -> str:
    return REDACTOR.json(json.dumps(document).encode()) or ""


# What a name and its value may look like; the value stands once.
FORMS: dict[str, Callable[[str], str]] = {
    "member": lambda name: body({"a": [{name: VALUE}]}),
    "member in a string": lambda name: body({"text": json.dumps({"b": 1, name: VALUE})}),
    "column": lambda name: body({"columns": [{"name": "id"}, {"name": name}], "rows": [[1, VALUE]]}),
    "named value": lambda name: body({"name": name, "value": VALUE}),
    "Python": lambda name: REDACTOR.text(f"got {{'{name}': '{VALUE}'}}"),
    "cut JSON": lambda name: REDACTOR.text(f'{{"id": 1, "{name}": "{VALUE}", "mo'),
    "spelled JSON": lambda name: REDACTOR.text(f'was {{\\"{name}\\": \\"{VALUE}\\"}}'),
    "environment": lambda name: REDACTOR.text(f"A=1\n{name}={VALUE}\nB=2"),
    "export": lambda name: REDACTOR.text(f'export {name}="{VALUE}"'),
    "YAML": lambda name: REDACTOR.text(f"a:\n  {name}: {VALUE}\n  b: 1"),
    "INI": lambda name: REDACTOR.text(f"[a]\n{name} = {VALUE}\nb = 1"),
    "query": lambda name: REDACTOR.text(f"https://h.example/p?a=1&{name}={VALUE}&b=2"),
    "flag": lambda name: REDACTOR.text(f"run --{name} {VALUE} --now"),
    "flag with a sign": lambda name: REDACTOR.text(f"run --{name}={VALUE} --now"),
    "XML": lambda name: REDACTOR.text(f"<a><{name}>{VALUE}</{name}></a>"),
    "keyword": lambda name: REDACTOR.text(f"connect(a='h', {name}='{VALUE}', x=1)"),
    "SQL": lambda name: REDACTOR.text(f"UPDATE t SET a = 1, {name} = '{VALUE}' WHERE id = 1"),
    "INSERT": lambda name: REDACTOR.text(f"INSERT INTO t (id, {name}) VALUES (1, '{VALUE}')"),
    "Markdown": lambda name: REDACTOR.text(f"| id | {name} |\n|---|---|\n| 1 | {VALUE} |"),
    "CSV": lambda name: REDACTOR.text(f"id,{name}\n1,{VALUE}\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secrets_name_hides_its_value(form: str) -> None:
    names = lines("secret_names.txt")
    assert len(set(names)) >= 150
    told = {name: FORMS[form](name) for name in names}
    assert not {name: text for name, text in told.items() if VALUE in text or "***" not in text}


@pytest.mark.parametrize("form", FORMS)
def test_an_honest_name_hides_nothing(form: str) -> None:
    told = {name: FORMS[form](name) for name in lines("honest_names.txt")}
    assert not {name: text for name, text in told.items() if VALUE not in text or "***" in text}


@pytest.mark.parametrize("line", lines("secret_texts.txt"))
def test_a_text_loses_its_secrets_and_keeps_what_stands_before(line: str) -> None:
    secrets = MARKED.findall(line)
    text = REDACTOR.text(MARKED.sub(r"\1", line))
    assert not [secret for secret in secrets if secret in text]
    # Up to a name, a scheme and a quote, which may go with the secret.
    assert text.startswith(line.partition("«")[0][:-25])


@pytest.mark.parametrize("line", lines("secret_documents.jsonl"))
def test_a_document_loses_its_secrets(line: str) -> None:
    secrets = MARKED.findall(line) or re.findall(r"\d{8}", line)
    text = REDACTOR.json(MARKED.sub(r"\1", line).encode()) or ""
    assert not [secret for secret in secrets if secret in text]
    assert secrets
    assert text != '"***"'


@pytest.mark.parametrize("line", lines("honest_texts.txt"))
def test_an_honest_text_stays_as_it_is(line: str) -> None:
    assert REDACTOR.text(line) == line
    told = REDACTOR.json(json.dumps({"text": line}).encode()) or ""
    assert json.loads(told)["text"] in (line, _compact(line))
    if _compact(line) is not None:
        assert json.loads(REDACTOR.json(line.encode()) or "") == json.loads(line)


def _compact(line: str) -> str | None:
    """JSON in a string is written anew."""
    try:
        return json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return None


def test_the_corpus_is_large_enough() -> None:
    texts = [*lines("secret_texts.txt"), *lines("secret_documents.jsonl")]
    assert sum(len(MARKED.findall(line)) for line in texts) >= 300
    assert len(lines("honest_texts.txt")) >= 300
