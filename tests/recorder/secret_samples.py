"""Secrets of every kind we know, made up: a text that holds one, and the part that must not be found."""

import base64
import random
import string
from collections.abc import Callable, Iterable

import re2

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"

Maker = Callable[[random.Random], tuple[str, str]]


def found_in(held: bytes, secrets: Iterable[str]) -> set[str]:
    """Those that it holds, in one go: megabytes are searched for a thousand of them."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 1 << 28
    any_of_them = re2.compile(b"|".join(re2.escape(secret.encode()) for secret in secrets), options)
    return {held[found.start() : found.end()].decode() for found in any_of_them.finditer(held)}


def _some(chance: random.Random, count: int, alphabet: str = _ALNUM) -> str:
    return "".join(chance.choice(alphabet) for _ in range(count))


def _prefixed(prefix: str, count: int, alphabet: str = _ALNUM) -> Maker:
    def make(chance: random.Random) -> tuple[str, str]:
        secret = _some(chance, count, alphabet)
        return prefix + secret, secret

    return make


def _inside(form: str, count: int = 24, alphabet: str = _ALNUM) -> Maker:
    """`form`: with {} where the secret goes."""

    def make(chance: random.Random) -> tuple[str, str]:
        secret = _some(chance, count, alphabet)
        return form.replace("{}", secret), secret

    return make


def _jwt(chance: random.Random) -> tuple[str, str]:
    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    payload = part(f'{{"sub":"{_some(chance, 20)}"}}')
    head = part('{"alg":"HS256"}')
    return f"{head}.{payload}.{_some(chance, 43)}", payload


def _private_key(chance: random.Random) -> tuple[str, str]:
    secret = _some(chance, 64)
    kind = chance.choice(["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
    body = f"MIIE{secret}\n{_some(chance, 64)}"
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----", secret


# By the name of the kind (`secret_patterns.KINDS`), and more that no pattern of ours but a rule finds.
MAKERS: dict[str, Maker] = {
    "aws_access_key": _prefixed("AKIA", 16, string.ascii_uppercase + string.digits),
    "aws_mws": _inside("amzn.mws.4ea38b7b-f563-7709-4bae-{}", 12, _HEX),
    "aws_presigned": _inside("https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}", 64, _HEX),
    "google_api_key": _prefixed("AIza", 35),
    "google_oauth": _prefixed("ya29.", 60),
    "google_client_secret": _prefixed("GOCSPX-", 28),
    "azure_account_key": _inside("DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==", 86),
    "azure_sas": _inside("https://a.blob.core.windows.net/c?sv=2022&sig={}%3D", 43),
    "azure_client_secret": _inside("abc8Q~{}", 34),
    "digitalocean": _prefixed("dop_v1_", 64, _HEX),
    "alibaba": _prefixed("LTAI", 20),
    "heroku": _prefixed("HRKU-", 36),
    "netlify": _prefixed("nfp_", 36),
    "flyio": _prefixed("fm2_", 60),
    "github": _prefixed("ghp_", 36),
    "github_fine_grained": _prefixed("github_pat_", 60),
    "gitlab": _prefixed("glpat-", 20),
    "npm": _prefixed("npm_", 36),
    "pypi": _prefixed("pypi-AgEIcHlwaS5vcmc", 80),
    "docker": _prefixed("dckr_pat_", 27),
    "rubygems": _prefixed("rubygems_", 48, _HEX),
    "atlassian": _prefixed("ATATT3xFf", 60),
    "openai_and_anthropic": _prefixed("sk-ant-api03-", 60),
    "huggingface": _prefixed("hf_", 34),
    "groq": _prefixed("gsk_", 52),
    "replicate": _prefixed("r8_", 37),
    "perplexity": _prefixed("pplx-", 48),
    "stripe": _prefixed("sk_live_", 24),
    "square": _prefixed("sq0atp-", 22),
    "shopify": _prefixed("shpat_", 32, _HEX),
    "slack": _prefixed("xoxb-123456789012-", 24),
    "slack_webhook": _inside("https://hooks.slack.com/services/T00000000/B00000000/{}"),
    "discord_webhook": _inside("https://discord.com/api/webhooks/123456789/{}", 68),
    "telegram": _inside("123456789:AA{}", 33),
    "twilio": _prefixed("SK", 32, _HEX),
    "sendgrid": _inside("SG.abcdefghijklmnopqrstuv.{}", 43),
    "mailgun": _prefixed("key-", 32, _HEX),
    "mailchimp": _inside("{}-us12", 32, _HEX),
    "databricks": _prefixed("dapi", 32, _HEX),
    "vault": _prefixed("hvs.", 90),
    "terraform": _inside("abcdefghijklmn.atlasv1.{}", 60),
    "new_relic": _prefixed("NRAK-", 27),
    "sentry": _prefixed("sntrys_", 80),
    "grafana": _prefixed("glsa_", 41),
    "linear": _prefixed("lin_api_", 40),
    "notion": _prefixed("ntn_", 46),
    "postman": _inside("PMAK-{}-0123456789abcdef0123456789abcdef01", 24, _HEX),
    "figma": _prefixed("figd_", 40),
    "doppler": _prefixed("dp.pt.", 43),
    "pulumi": _prefixed("pul-", 40, _HEX),
    "planetscale": _prefixed("pscale_tkn_", 43),
    "supabase": _prefixed("sbp_", 40, _HEX),
    "airtable": _inside("patAbCdEfGhIjKlMn.{}", 64, _HEX),
    "age": _prefixed("AGE-SECRET-KEY-1", 58, string.ascii_uppercase + string.digits),
    "jwt": _jwt,
    "private_key": _private_key,
    "putty_key": _inside("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{}", 48),
    "http_credentials": _inside("Authorization: Bearer {}", 40),
    "google_signature": _inside("https://storage.googleapis.com/b/o?X-Goog-Signature={}", 64, _HEX),
    "query_signature": _inside("https://b.s3.amazonaws.com/k?Expires=60&Signature={}%3D", 27),
    "shared_access_signature": _inside("BlobEndpoint=https://a;SharedAccessSignature=sv=1&sig={}", 43),
    "sql_identified": _inside("ALTER USER 'bob'@'%' IDENTIFIED BY '{}'"),
    "oracle_identified": _inside("CREATE USER bob IDENTIFIED BY {} ACCOUNT LOCK"),
    "sql_cipher_key": _inside("SELECT pgp_sym_decrypt(d, '{}') FROM t"),
    "dsn_of_go": _inside("bob:{}@tcp(db:3306)/shop"),
    "sqlcipher": _inside("PRAGMA key = '{}'"),
    # ---- by a command
    "curl_user": _inside("curl -sS -u bob:{} https://h.example"),
    "curl_cookie": _inside("curl -b 'sid={}' https://h.example"),
    "httpie": _inside("http -a bob:{} h.example"),
    "mysql": _inside("mysqldump -u root -p{} shop"),
    "sshpass": _inside("sshpass -p {} ssh bob@h"),
    "mongo": _inside("mongosh -u bob -p {} shop"),
    "login": _inside("docker login -u bob -p {} registry.example"),
    "redis_cli": _inside("redis-cli -h cache -a {} ping"),
    "sqlcmd": _inside("sqlcmd -S db -U sa -P {} -Q 'SELECT 1'"),
    "ldap": _inside("ldapsearch -D cn=admin -w {} -b dc=x"),
    "smbclient": _inside("smbclient //h/s -U bob%{}"),
    "openssl_pass": _inside("openssl rsa -in key.pem -passin pass:{}"),
    "openssl_key": _inside("openssl enc -aes-256-cbc -k {} -in a"),
    "htpasswd": _inside("htpasswd -b .htpasswd bob {}"),
    "chpasswd": _inside("echo 'bob:{}' | chpasswd"),
    "password_stdin": _inside("echo {} | docker login -u bob --password-stdin"),
    "rabbitmqctl": _inside("rabbitmqctl add_user bob {}"),
    "sudo_stdin": _inside("echo '{}' | sudo -S ls"),
    "net_use": _inside(r"net use Z: \\h\s {} /user:bob"),
    "net_use_user": _inside(r"net use \\h\s /user:bob {}"),
    "net_user": _inside("net user bob {} /add"),
    "sqlplus": _inside("sqlplus scott/{}@db"),
    "oracle_thin": _inside("jdbc:oracle:thin:scott/{}@db:1521/x"),
    "aws_configure": _inside("aws configure set aws_secret_access_key {}"),
    # ---- by a name
    "cookie": _inside("Cookie: theme=dark; sid={}", 32),
    "key_header": _inside("X-Api-Key: {}", 32),
    "sql_password": _inside("ALTER USER bob WITH PASSWORD '{}'"),
    "pwd": _inside("Server=db;Uid=sa;Pwd={};"),
    # ---- by key, in text
    "listed key and equals sign": _inside("host=db user=me password={} dbname=shop"),
    "listed key in JSON in prose": _inside('The answer was: {"user": "me", "api_key": "{}"} and so on'),
    "listed key in YAML": _inside("user: me\nsecret: {}\nport: 3306"),
    "basic credentials": _inside("curl -H 'Authorization: Basic {}=='", 24),
    "DSN": _inside("postgresql://me:{}@db.example/shop"),
    "DSN with odd characters": _inside("mysql://me:a/b@{}:c@db:3306/shop"),
}
