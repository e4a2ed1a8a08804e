"""Passwords that commands take without a name: `curl -u bob:x`, `mysql -px`, `redis-cli -a x`.

The same two parts as in `secret_patterns`: a hint, and a form whose first group is kept.
"""

from callgate.recorder.redact.secret_patterns import SecretKind

_TO = r"[^\n|;]*?\s"  # other arguments, up to the next one
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'|;\\]+)"
_USER = r"[ =]?\\*[\"']?[^\s:\"'\\]+:)(?:[^\s\"'\\/]|/[^\s\"'\\/])[^\s\"'\\]*"  # not https://
_LITERAL = r"(?:\"[^\"$`][^\"]*\"|'[^']+'|[^\s\"'|;\\$`-][^\s\"'|;\\]*)"  # no variable
_PIPE = r"\s*\\*\|\s*"  # a cell of Markdown escapes it
_ECHO = rf"(\b(?:echo|printf) (?:-\w )?(?:['\"]?%s['\"]? )?){_LITERAL}"

COMMANDS: tuple[SecretKind, ...] = (
    SecretKind("curl_user", "curl ", rf"(\bcurl\b{_TO}(?:-[a-zA-Z]*[uU]|--user|--proxy-user){_USER}"),
    SecretKind(
        "curl_cookie",
        "curl ",
        rf"(\bcurl\b{_TO}(?:-b|--cookie)[ =]?)(?:\"[^\"]*=[^\"]*\"|'[^']*=[^']*'|[^\s\"'=]+=[^\s\"']+)",
    ),
    SecretKind("httpie", "https? -a|https? --auth", rf"(\bhttps? (?:-a|--auth){_USER}"),
    SecretKind(
        "mysql",
        "(?:mysql|mariadb)[a-z-]* |mycli |7z |sshpass ",
        rf"(\b(?:(?:mysql|mariadb)[a-z-]*|mycli|7z|sshpass) (?:{_TO})?-p){_VALUE}",
    ),
    SecretKind("sshpass", "sshpass ", rf"(\bsshpass (?:{_TO})?-p ){_VALUE}"),
    SecretKind("mongo", "mongo[a-z]* ", rf"(\bmongo[a-z]* (?:{_TO})?-p\s*){_VALUE}"),
    SecretKind("login", "login [ -~]*-p", rf"(\blogin (?:{_TO})?-p[ =]){_VALUE}"),
    SecretKind("redis_cli", "redis-cli", rf"(\bredis-cli{_TO}-a\s*){_VALUE}"),
    SecretKind("sqlcmd", "sqlcmd |bcp |zip ", rf"(\b(?:sqlcmd|bcp|unzip|zip) (?:{_TO})?-P\s*){_VALUE}"),
    SecretKind("ldap", "ldap[a-z]+ ", rf"(\bldap[a-z]+{_TO}-w\s*){_VALUE}"),
    SecretKind("smbclient", "smbclient ", rf"(\bsmbclient{_TO}-U\s*['\"]?[^\s%'\"]+%)[^\s'\"]+"),
    SecretKind("openssl_pass", "pass:", r"(-pass(?:in|out)? pass:)\S+"),
    SecretKind("openssl_key", "openssl ", rf"(\bopenssl enc{_TO}-[kK] ){_VALUE}"),
    SecretKind("htpasswd", "htpasswd ", rf"(\bhtpasswd -[a-zA-Z]*b[a-zA-Z]* \S+ \S+ ){_VALUE}"),
    SecretKind(
        "chpasswd",
        "chpasswd",
        rf"(\becho (?:-\w )?['\"]?[^\s:'\"|]+:)[^\s'\"|]+(['\"]?{_PIPE}(?:sudo )?chpasswd)",
    ),
    SecretKind(
        "password_stdin",
        "password-stdin|--with-token",
        rf"{_ECHO}({_PIPE}[^\n;|]*--(?:password-stdin|with-token))",
    ),
    SecretKind(
        "rabbitmqctl",
        "rabbitmqctl ",
        rf"(\brabbitmqctl (?:{_TO})?(?:add_user|change_password) \S+ ){_VALUE}",
    ),
    SecretKind("sudo_stdin", "sudo [ -~]*-S", rf"{_ECHO}({_PIPE}sudo (?:-\w+ )*-\w*S\b)"),
    SecretKind(
        "net_use",
        "(?i)net use ",
        r"(?i)(\bnet use (?:[a-z*]:? )?\\+\S+ )(?:\"[^\"]*\"|[^\s\"/*]\S*)((?: /\S+)*? /user:)",
    ),
    SecretKind(
        "net_use_user",
        "(?i)net use ",
        r"(?i)(\bnet use [^\n|;]*?/user:\S+ )(?:\"[^\"]*\"|[^\s\"/*]\S*)",
    ),
    SecretKind("net_user", "(?i)net user ", r"(?i)(\bnet user \S+ )(?:\"[^\"]*\"|[^\s\"/*]\S*)( /[a-z])"),
    SecretKind("sqlplus", "sqlplus ", r"(\bsqlplus (?:-\w+ )*[^\s/'\"]+/)[^\s@'\"]+"),
    SecretKind("oracle_thin", "jdbc:oracle", r"(jdbc:oracle:\w+:[^\s/@]+/)[^\s@]+"),
    SecretKind("aws_configure", "configure set", r"(\bconfigure set \S*(?:secret|token)\S* )\S+"),
)
