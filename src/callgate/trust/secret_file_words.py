"""Files of secrets, and what an order to read and pass them on reads like. Pure data for `orders`."""

_HOME = r"(?:~|\$\{?home\}?|%userprofile%|/home/[^/ \n]+|/root|/users/[^/ \n]+)?[/\\]?"
# Files that hold nothing but secrets.
_KEY_FILES = (
    rf"(?:{_HOME}\.(?:ssh|gnupg|netrc|pypirc|git-credentials|pgpass|aws)\b(?:[/\\][a-z0-9_.*-]+)*"
    r"|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:shadow|sudoers)|\blogin keychain\b|\bwallet\.dat\b|"
    r"\bseed phrase\b)"
)
# Files that hold secrets among other things.
FILES = (
    rf"(?:{_KEY_FILES}|{_HOME}\.(?:kube/config|docker/config|npmrc|bash_history|zsh_history|config/gcloud)"
    r"|\B\.env\b(?:\.[a-z]+)?|/etc/passwd|\bcredentials\.json\b|\b(?:claude_desktop_config|mcp)\.json"
    rf"|{_HOME}\.(?:cursor|claude|codex)[/\\.][a-z.]+|\bbrowser (?:cookies|passwords)\b|\.kdbx\b"
    r"|\bcredentials? files?\b|\bssh (?:private )?keys?\b)"
)
_ALL_SECRETS = (
    r"(?:all|every|any|the users?'?s?|users?'?s?|your)[ ]+(?:of )?(?:the |local |stored |saved |"
    r"available )*"
    r"(?:environment variables|private keys?|ssh keys?|api keys|passwords|credentials|browser cookies|"
    r"access tokens)"
)
# Other words in between.
GAP = r"(?:[a-z0-9'_./~$%{}\\-]+[ ,'\"`()*:\n\t-]+){0,7}?"
_REST = r"[^\n;!?]*?"
_READ = r"(?:read|open|cat|fetch|retrieve|extract|copy|dump|grab|collect|print|take|look up)"
_HANDED = (
    r"(?:pass|include|put|provide|send|append|attach|supply|insert|upload|post|paste|forward|submit|"
    r"encode|place|"
    r"transmit|add (?:it|them|its)|give (?:it|them)|write (?:it|them))"
)
_INTO = r"(?:as|in|into|to|with|via|through|here|inside|within)"
_ORDER = (
    r"(?:you must|must|always|first|before (?:using|calling|you|this|any|invoking|each|every|running)|"
    r"please|make sure to|"
    r"remember to|be sure to|need to|required to|have to|in order to use this|for this tool to work|"
    r"otherwise)"
)
_READ_ELSEWHERE = (
    r"(?:lies|lese|lesen sie|offne|offnen sie|lis|lisez|ouvre|ouvrez|lee|lea|abre|abra|leia|ler|abrir|"
    r"leggi|leggere|apri|aprire|"
    r"kopiere|copie|copia|copiez)"
)
_HANDED_ELSEWHERE = (
    r"(?:ubergib|ubergeben|gib|fuge|sende|schick|schreib|trage|hange|passe|mets|mettez|envoie|envoyez|"
    r"inclus|incluez|transmets|"
    r"ajoute|pasa|pase|incluye|incluya|envia|envie|pon|ponga|adjunta|inclua|coloque|anexe|passa|includi|"
    r"invia|inserisci|metti|allega)"
)
SECRET_FILES = (
    rf"\b{_READ} {GAP}{FILES}{_REST}\b{_HANDED}\b{_REST}\b{_INTO}\b",
    (
        rf"\b{_ORDER}[ ,:]+{GAP}(?:read|open|cat|fetch|retrieve|extract|copy|dump|grab|collect|print)\b "
        rf"?{GAP}{FILES}"
    ),
    (
        rf"\b(?:pass|include|send|append|attach|insert|upload|forward|submit|embed|encode) {GAP}"
        rf"(?:contents?|text|value|values|body|copy|data) (?:of|from) {GAP}{FILES}"
    ),
    (
        rf"\b(?:pass|include|send|append|attach|insert|upload|forward|submit|put|paste) "
        rf"{GAP}{_KEY_FILES}{_REST}\b{_INTO}\b"
    ),
    # At the beginning of a string.
    rf"(?:^|\x1e)[ \n]*(?:the )?(?:full |entire |raw |complete )?contents? of {GAP}{_KEY_FILES}",
    (
        rf"\b(?:pass|include|attach|append|put|paste|send|collect) {GAP}{_ALL_SECRETS} {GAP}(?:as|in|"
        rf"into|to) {GAP}"
        r"(?:parameter|argument|field|context|note|this tool|tool call|url|sidenote|webhook)"
    ),
    rf"\b{_READ_ELSEWHERE}\b ?{GAP}{FILES}{_REST}\b{_HANDED_ELSEWHERE}",
)
ABOUT_SECRETS = (
    FILES,
    (
        r"(?:environment variables|private keys?|ssh keys?|api keys|passwords|credentials|browser cookies|"
        r"access tokens)"
    ),
)
# Folded like a phrase: these words are Cyrillic.
READ_RU = "(прочитай|прочти|открой|считай|возьми|скопируй)"
HANDED_RU = "(передай|вставь|отправь|включи|добавь|положи|запиши|приложи)"
FILES_AND_REST = (rf"[a-z]*[ ]+{GAP}{FILES}{_REST}", r"[a-z]*")
SECRET_FILES_CJK = (
    rf"(?:读取|读出|读一下|打开|获取|先读|复制)[^。\n]{{0,12}}?{FILES}[^。\n]{{0,16}}?(?:传|放入|放到|填|发送|发给|附|写入|提交)",
)
# What stands behind such a file. Each has one of these words.
CONTENTS_CJK = ("内容", "読ん", "読み", "開い", "取得し")
BEHIND_FILES_CJK = (
    r"[^。\n]{0,14}?内容[^。\n]{0,12}?(?:传|放入|放到|填|发送|发给|附|写入|提交)",
    rf"[^。\n]{{0,14}}?(?:{'|'.join(CONTENTS_CJK)})[^。\n]{{0,16}}?(?:渡|入れ|送|含め|添付|設定)",
)
