"""Whether a name is a secret's: `client_secret`, `apiKey`, `X-Api-Key`, `PGPASSWORD`.

1. A name is split into words at `_`, `-`, `.`, spaces, digits and camel case. Its last words decide, so
   `password_policy` and `token_count` are honest.
2. What follows the noun but still means its value is left out: `password_hash`, `secret_value`.
3. Honest neighbours that end like a secret are listed here: `next_token`, `max_tokens`, `public_key`.

`STEMS` is part of the quick look at raw JSON: a name in which it finds nothing is honest by definition.
Pure: knows neither texts nor values (`secret_values`).
"""

import re
from enum import Enum
from functools import lru_cache


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


class NameKind(Enum):
    """What sort of secret a name speaks of: it decides which values are believed."""

    PASSWORD = "password"  # noqa: S105 - a kind, as the next ones
    TOKEN = "token"  # noqa: S105 - and keys: never a small number
    TOKENS = "tokens"  # may be a count
    HEADER = "header"  # the rest of the line
    COOKIE = "cookie"
    PASS = "pass"  # noqa: S105 - only beside a user
    LONE_PASS = "lone pass"  # noqa: S105 - of nobody: only a string that looks very much like one
    AUTH = "auth"  # only what looks made up
    DSN = "dsn"  # only with a password in it
    PHRASE = "phrase"  # only so many words as open a wallet
    LISTED = "listed"  # by the operator: whatever the value is


_KEY_OWNERS = (
    "api|apis|secret|private|access|auth|authentication|encryption|encrypt|decryption|decrypt"
    "|signing|sign|master|ssh|account|storage|shared|service|role|subscription|license|licence|app"
    "|application|hmac|session|cipher|crypto|aes|rsa|pgp|gpg|jwt|admin|server|client|deploy|write|webhook|vault|unseal|recovery|functions"
    "|consumer|developer|openai|anthropic|stripe|aws|azure|google|gcp|github|gitlab|openrouter|gemini|mistral"
    "|cohere|groq|tavily|serpapi|sendgrid|twilio|mailgun|algolia|datadog|pinecone|supabase|sas|tls|ssl|psk"
)
# What may follow a name that is too short to be looked for by itself.
_NAME_ENDS = r"[\\\"'`>:=|,;)\]\n\r\t]"
_SHORT_OWNER = (
    "(?:db|user|usr|mysql|smtp|mail|root|admin|ftp|proxy|login|auth|redis|ssh|ldap|key|store|app|api|pg|my)"
)
_PAT_OWNERS = (
    "github|gitlab|gh|git|azure|devops|ado|bitbucket|docker|dockerhub|airtable|snowflake|databricks"
    "|tableau|jira"
)
_SK_OWNERS = "stripe|paystack|clerk|openai|anthropic"
_PIN_OWNERS = "card|sim|atm|debit|bank"
_CODE_OWNERS = "mfa|totp|2fa|tfa|otp"
# In the part of the syntax that RE2 and Vectorscan read alike, see `vector_scan`.
STEMS = (
    "(?i)passw|passphrase|passcode|pass[ _-](?:phrase|word|code)|pwd|pswd|secret|token|credential"
    "|authorization"
    f"|(?:{_KEY_OWNERS})[ _.-]?key|x-[a-z-]+-key|conn(?:ection)?[ _-]?str"
    rf"|(?:otp|psk|pass){_NAME_ENDS}|pass +[:=]|(?:otp|psk|{_SHORT_OWNER}pass) |otp[_-]|[_-]pass"
    rf"|requirepass|rootpw|bindpw|pw{_NAME_ENDS}|pw +[:=]|[_-]pw"
    "|kennwort|wachtwoord|mot[ _-]?de[ _-]?passe|contrase|senha"
    f"|(?:{_PAT_OWNERS})[_-]?pat|(?:{_SK_OWNERS})[_-]?sk"
    f"|(?:{_PIN_OWNERS})[ _-]?pin|(?:{_CODE_OWNERS})[ _-]?code"
    "|(?:private|key)[ _-]?pem|mnemonic|_dsn|_jwt|(?:db|database)[ _-]?ur[il]"
    rf"|(?:bearer|jwt|dsn|auth){_NAME_ENDS}|(?:bearer|jwt|dsn|auth) +[:=]"
    "|(?:seed|recovery|backup|mnemonic)[ _-]?(?:phrase|code)|cookie|_auth|auth_header"
)
_STEM = re.compile(STEMS)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PASSWORDS = word_set(
    """
    password passwd pwd pswd passphrase passcode pw otp psk secret credential requirepass rootpw
    bindpw passwort kennwort wachtwoord motdepasse contrasena senha
    """
)
_KEY_OWNER = frozenset(_KEY_OWNERS.split("|"))
_HONEST_X_KEYS = word_set(
    """
    idempotency routing cache partition sort request correlation public trace
    """
)
# The same in one word: `PGPASSWORD`, `authtoken`, `clientsecret`.
_JOINED = re.compile(
    r"(?P<before>.*?)(?P<noun>password|passwort|kennwort|passwd|passphrase|passcode|pwd|secret|credential|token"
    r"|(?:api|secret|private|access|auth|encryption|master|signing)key|connectionstring|connstr"
    r"|authorization)(?P<plural>s?)"
)
# Who has a `pass`: a season, a compass and a test have another one.
_PASS_OWNERS = word_set(
    """
    db database mysql pg postgres mariadb sql redis mongo user usr username root admin smtp imap pop
    mail email ftp sftp ssh proxy http ldap bind login auth basic wifi wpa key keystore truststore
    store ssl tls cert service svc app api client server master router vpn rabbitmq mq amqp kafka
    elastic jdbc sa account sudo old new current confirm
    """
)
_PASS_JOINED = re.compile(f"{_SHORT_OWNER}pass")
# Tokens that open nothing: of lists that go on, of progress, of language models and parsers.
_HONEST_TOKENS = word_set(
    """
    next page continuation pagination cursor resume sync delta progress cancellation cancel pad
    padding eos bos unk sep cls mask stop end start special per first last prev previous design sub
    unexpected current lookahead pre non idempotency expected reserved lexer parser lexical syntax
    """
)
_COUNTS = word_set(
    """
    max min total prompt completion input output cached reasoning num n used count number thinking
    budget remaining context estimated avg average special design stop limit per image audio many
    cost
    """
)
_QUESTIONS = word_set(
    """
    is has had needs need requires require required uses allow allows show hide forgot enable
    enabled disable disabled should can must missing no without
    """
)
# Behind the noun these still mean its value.
_VALUES = word_set(
    """
    value values hash digest plain plaintext string raw confirmation confirm repeat again base pem
    data binary encrypted encoded decrypted clear cleartext prod production dev staging live bytes b
    enc
    """
)
_PAIRS = {
    ("pass", "word"): NameKind.PASSWORD, ("pass", "phrase"): NameKind.PASSWORD,
    ("pass", "code"): NameKind.PASSWORD, ("otp", "code"): NameKind.PASSWORD,
    ("seed", "phrase"): NameKind.PASSWORD, ("recovery", "phrase"): NameKind.PASSWORD,
    ("mnemonic", "phrase"): NameKind.PASSWORD, ("recovery", "code"): NameKind.PASSWORD,
    ("backup", "code"): NameKind.PASSWORD, ("connection", "string"): NameKind.TOKEN,
    ("conn", "string"): NameKind.TOKEN, ("conn", "str"): NameKind.TOKEN,
    ("connection", "str"): NameKind.TOKEN, ("auth", "header"): NameKind.HEADER,
    ("de", "passe"): NameKind.PASSWORD,
    ("contrase", "a"): NameKind.PASSWORD,  # the letter between them is no ASCII
    ("private", "pem"): NameKind.TOKEN, ("key", "pem"): NameKind.TOKEN,
    ("db", "url"): NameKind.DSN, ("database", "url"): NameKind.DSN,
    ("db", "uri"): NameKind.DSN, ("database", "uri"): NameKind.DSN,
    ("fa", "code"): NameKind.PASSWORD,  # of two factors: digits are no words
    **{(owner, "pat"): NameKind.TOKEN for owner in _PAT_OWNERS.split("|")},
    **{(owner, "sk"): NameKind.TOKEN for owner in _SK_OWNERS.split("|")},
    **{(owner, "pin"): NameKind.PASSWORD for owner in _PIN_OWNERS.split("|")},
    **{(owner, "code"): NameKind.PASSWORD for owner in _CODE_OWNERS.split("|")},
}  # fmt: skip
_SIMPLE = {
    "authorization": NameKind.HEADER, "cookie": NameKind.COOKIE, "cookies": NameKind.COOKIE,
    "jwt": NameKind.AUTH, "dsn": NameKind.DSN, "mnemonic": NameKind.PHRASE,
}  # fmt: skip
_ALONE = {"auth": NameKind.AUTH, "bearer": NameKind.AUTH}
# A name that is longer is judged by its end.
_MAX_NAME_CHARS = 100


def words_of(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name[-_MAX_NAME_CHARS:])]


@lru_cache(maxsize=4096)
def kind_of(name: str) -> NameKind | None:
    """None: an honest name."""
    if _STEM.search(name) is None and _STEM.search(name + ":") is None:
        return None
    words = words_of(name)
    while len(words) > 1 and words[-1] in _VALUES:
        if _kind_of_end(words) is not None:
            break
        words.pop()
    if not words or words[0] in _QUESTIONS:
        return None
    return _kind_of_end(words)


def _kind_of_end(words: list[str]) -> NameKind | None:
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    single = last[:-1] if last.endswith("s") and not last.endswith("ss") else last
    pair = _PAIRS.get((before, single))
    if pair is not None:
        return None if words[-3:-1] == ["public", "key"] else pair
    if single in ("token", "secret"):
        return _kind_of_noun(single, before, words, is_plural=single != last)
    if single in _PASSWORDS:
        return NameKind.PASSWORD
    if single == "key":
        is_header = words[0] == "x" and before not in _HONEST_X_KEYS and len(words) > 2
        return NameKind.TOKEN if before in _KEY_OWNER or is_header else None
    if last == "pass":
        return (NameKind.PASSWORD if before in _PASS_OWNERS else None) if before else NameKind.PASS
    simple = _SIMPLE.get(last) or (None if before else _ALONE.get(last))
    return simple or _kind_of_joined(last, words)


def _kind_of_joined(last: str, words: list[str]) -> NameKind | None:
    if _PASS_JOINED.fullmatch(last):
        return NameKind.PASSWORD
    found = _JOINED.fullmatch(last)
    if found is None:
        return None
    before, noun = found["before"], found["noun"]
    if noun == "token":
        ends = tuple(word for word in _HONEST_TOKENS | _COUNTS if len(word) > 2)
        if before.endswith(ends):
            return None
        return _kind_of_noun(
            "token", words[-2] if len(words) > 1 else "", words, is_plural=bool(found["plural"])
        )
    if noun == "authorization":
        return NameKind.HEADER
    return (
        NameKind.PASSWORD
        if noun[:4] in ("pass", "pwd", "secr", "cred", "kenn") and "key" not in noun
        else NameKind.TOKEN
    )


def _kind_of_noun(noun: str, before: str, words: list[str], *, is_plural: bool) -> NameKind | None:
    if noun == "secret":
        return None if before in ("trade", "top", "open") else NameKind.PASSWORD
    if before in _HONEST_TOKENS or words[-3:-1] == ["public", "key"]:
        return None
    if not is_plural:
        return NameKind.TOKEN
    return None if not _COUNTS.isdisjoint(words[:-1]) else NameKind.TOKENS
