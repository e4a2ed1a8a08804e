"""What secrets look like when no key names them: the forms that issuers gave theirs, and texts that hold one.

Each kind has a *hint* and a *form*. Hints are short and go into one RE2 set, which is asked about whole
groups of rows at once: a hint must find at least whatever its form finds, may find more, holds no counted
repetition (a set that runs out of memory answers "no"), and nothing that `vector_scan` might read in another
way: characters, classes of them and repetitions. A form is exact; its first group, if any, is kept.
"""

from dataclasses import dataclass

_B64 = r"[A-Za-z0-9+/_=-]"
_WORD = r"[A-Za-z0-9_-]"
_END_OF_VALUE = r"[^\s\"'`,;&<>\\]"


@dataclass(frozen=True, slots=True)
class SecretKind:
    name: str
    hint: str
    form: str
    is_judged: bool = False  # masked only if it looks made up


KINDS: tuple[SecretKind, ...] = (
    # ---- clouds
    SecretKind("aws_access_key", "A[KS]IA", r"\bA[KS]IA[A-Z0-9]{12,}"),
    SecretKind("aws_mws", r"amzn\.mws", r"amzn\.mws\.[0-9a-f-]{30,}"),
    SecretKind(
        "aws_presigned",
        "(?i)x-amz-",
        rf"(?i)(x-amz-(?:signature|security-token|credential)=){_END_OF_VALUE}+",
    ),
    SecretKind("google_api_key", "AIza", rf"AIza{_WORD}{{30,}}"),
    SecretKind("google_oauth", r"ya29\.", r"ya29\.[A-Za-z0-9._-]{20,}"),
    SecretKind("google_client_secret", "GOCSPX-", rf"GOCSPX-{_WORD}{{20,}}"),
    SecretKind("azure_account_key", "(?i)accountkey", rf"(?i)(accountkey=){_B64}{{20,}}"),
    SecretKind("azure_sas", "(?i)sig=", r"(?i)([?&;]sig=)[A-Za-z0-9%+/=_-]{20,}"),
    SecretKind("azure_client_secret", "8Q~", r"[A-Za-z0-9_.~-]{3}8Q~[A-Za-z0-9_.~-]{30,}"),
    SecretKind("digitalocean", "do[opr]_v1_", r"do[opr]_v1_[0-9a-f]{40,}"),
    SecretKind("alibaba", "LTAI", r"\bLTAI[A-Za-z0-9]{12,}"),
    SecretKind("heroku", "HRKU-", rf"HRKU-{_WORD}{{30,}}"),
    SecretKind("netlify", "nf[pcou]_", rf"\bnf[pcou]_{_WORD}{{30,}}"),
    SecretKind("flyio", "fm[12]_|FlyV1", r"(?:\bfm[12]_|FlyV1 fm[12]_)[A-Za-z0-9+/=_,-]{20,}"),
    # ---- code and packages
    SecretKind("github", "gh[pousr]_", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    SecretKind("github_fine_grained", "github_pat_", rf"github_pat_{_WORD}{{20,}}"),
    SecretKind("gitlab", "gl[a-z]+-", rf"\bgl(?:pat|ptt|dt|rt|cbt|soat|ffct|imt|agent|ft)-{_WORD}{{16,}}"),
    SecretKind("npm", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    SecretKind("pypi", "pypi-", rf"pypi-{_WORD}{{30,}}"),
    SecretKind("docker", "dckr_", rf"dckr_(?:pat|oat)_{_WORD}{{20,}}"),
    SecretKind("rubygems", "rubygems_", r"rubygems_[0-9a-f]{40,}"),
    SecretKind("atlassian", "ATATT3|ATCTT3", rf"AT[AC]TT3{_B64}{{20,}}"),
    # ---- models
    SecretKind("openai_and_anthropic", "sk-", rf"\bsk-{_WORD}{{20,}}"),
    SecretKind("huggingface", "hf_|api_org_", r"(?:\bhf_|api_org_)[A-Za-z0-9]{30,}"),
    SecretKind("groq", "gsk_", r"gsk_[A-Za-z0-9]{30,}"),
    SecretKind("replicate", "r8_", r"\br8_[A-Za-z0-9]{30,}"),
    SecretKind("perplexity", "pplx-", r"pplx-[A-Za-z0-9]{30,}"),
    # ---- money
    SecretKind("stripe", "[srp]k_(?:live|test)_|whsec_", rf"(?:[sr]k_(?:live|test)_|whsec_){_B64}{{16,}}"),
    SecretKind("square", "sq0|EAAA", rf"(?:sq0(?:atp|csp|idp)-|\bEAAA){_WORD}{{20,}}"),
    SecretKind("shopify", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{24,}"),
    # ---- talking
    SecretKind("slack", "xox|xapp-", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    SecretKind(
        "slack_webhook", r"hooks\.slack", r"(hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9_/]+"
    ),
    SecretKind("discord_webhook", "api/webhooks/", rf"(api/webhooks/)[0-9]+/{_WORD}+"),
    SecretKind("telegram", r"[0-9]:AA", rf"\b[0-9]{{8,10}}:AA{_WORD}{{30,}}"),
    SecretKind("twilio", "SK[0-9a-f]", r"\bSK[0-9a-f]{32}\b"),
    SecretKind("sendgrid", r"SG\.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    SecretKind("mailgun", "key-[0-9a-z]", r"\bkey-[0-9a-z]{32}\b"),
    SecretKind("mailchimp", "-us[0-9]", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    # ---- tools of the trade
    SecretKind("databricks", "dapi[0-9a-f]", r"\bdapi[0-9a-f]{32}"),
    SecretKind("vault", "hv[sbr]\\.", rf"\bhv[sbr]\.{_WORD}{{20,}}"),
    SecretKind("terraform", "atlasv1", r"[A-Za-z0-9]{8,}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    SecretKind("new_relic", "NRAK-|NRJS-|NRII-", r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{15,}"),
    SecretKind("sentry", "sntry", rf"sntry[su]_{_B64}{{30,}}"),
    SecretKind("grafana", "gl(?:sa|c)_", rf"\bgl(?:sa|c)_{_B64}{{20,}}"),
    SecretKind("linear", "lin_(?:api|oauth)", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    SecretKind("notion", "ntn_|secret_", r"\b(?:ntn|secret)_[A-Za-z0-9]{30,}"),
    SecretKind("postman", "PMAK-", r"PMAK-[0-9a-f-]{30,}"),
    SecretKind("figma", "figd_", rf"figd_{_WORD}{{20,}}"),
    SecretKind("doppler", r"dp\.[a-z]+\.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{30,}"),
    SecretKind("pulumi", "pul-", r"\bpul-[0-9a-f]{40}"),
    SecretKind("planetscale", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{20,}"),
    SecretKind("supabase", "sb[pcs]?_", rf"\b(?:sbp_[0-9a-f]{{30,}}|sb_secret_{_WORD}{{20,}})"),
    SecretKind("airtable", r"pat[A-Za-z0-9]+\.", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{50,}"),
    SecretKind("age", "AGE-SECRET-KEY", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    # ---- forms that anybody may issue
    SecretKind("jwt", "eyJ", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*"),
    SecretKind(
        "private_key",
        "PRIVATE KEY",
        # To its end, or as far as it goes: what follows such a head is never anybody else's business.
        r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)(?:[^-]|-[^-])*"
        r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    SecretKind("putty_key", "PuTTY-User-Key", r"(PuTTY-User-Key-File-[0-9]+:)[\s\S]*"),
    # What follows is judged, for "basic training" is none.
    SecretKind(
        "http_credentials", "(?i)bearer|basic", r"(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}", True
    ),
    SecretKind("google_signature", "(?i)x-goog-", rf"(?i)(x-goog-signature=){_END_OF_VALUE}+"),
    SecretKind("query_signature", "[?&]Signature=", r"([?&]Signature=)[A-Za-z0-9%+/=_-]{20,}"),
    SecretKind("shared_access_signature", "SharedAccessSignature", r"(SharedAccessSignature=)[^\s;\"']+"),
    SecretKind(
        "sql_identified",
        "(?i)identified",
        # Inside a string of SQL its quotes are doubled or escaped.
        r"(?i)(\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+|values\s+)?)"
        r"(?:''(?:[^'\\]|\\[\s\S])+''|\\*'(?:[^'\\]|''|\\[\s\S])*'|\\*\"[^\"]*\")",
    ),
    SecretKind(
        "oracle_identified",
        "(?i)identified",
        r"(?i)(\buser\s+\S+\s+identified\s+by\s+)[^\s;'\"*\\]+",
    ),
    SecretKind(
        "sql_cipher_key",
        "(?i)pgp_sym_|aes_(?:en|de)crypt",
        r"(?i)(\b(?:pgp_sym_(?:en|de)crypt(?:_bytea)?|aes_(?:en|de)crypt)\s*"
        r"\((?:'[^']*'|[^'(),]|\([^()]*\))*,\s*\\*)(?:'(?:[^'\\]|''|\\[\s\S])*'|\"[^\"]*\")",
    ),
    SecretKind("dsn_of_go", "@tcp|@unix", r"(\b[A-Za-z0-9_.-]+:)[^\s\"'`]+(@(?:tcp|unix)\()"),
    SecretKind(
        "sqlcipher", "(?i)pragma", r"(?i)(\bpragma\s+(?:hex)?(?:re)?key\s*=\s*)(?:'[^']*'|\"[^\"]*\")"
    ),
)
