"""What stands around a secret's name, as patterns: between it and its value, and what both stand in.

`named_values` says in which order they are tried. Hostile texts take linear time: each pattern is bounded.
"""

import re

_FLAGS = re.ASCII
# ---- between a name and its value
_CLOSERS = r"(?:\\*[\"'`]|[\])]|%5[dD]|\*\*|::\w{1,30}|[?!](?=[:\s])){0,6}"
SIGN = re.compile(
    _CLOSERS
    + r"(?:\s+(?:is|was)|\s+(?:for|of|de|del|para|pour)\s+(?:(?:the|la|el)\s+)?[\w@.'-]{1,40})?[ \t]*"
    r"(?P<sign>:=|=>|[=!]==?|<>|=~|:(?!:)|=|%3[dD]|%3[aA])(?:\*\*)?[ \t]*",
    _FLAGS,
)
SQL_WORD = re.compile(
    _CLOSERS + r"\s+(?:not\s+)?(?:i?like|in|rlike|regexp|to|between|for\s+[^\s=]{1,100}\s*=|"
    r"(?:n?varchar|char|text)(?:\(\w{1,5}\))?\s*=)\s*(?=[(\"'A-Za-z])",
    _FLAGS | re.IGNORECASE,
)
NEXT_ARGUMENT = re.compile(r"\\*[\"']\s*,\s*(?=\\*[\"'])", _FLAGS)
TYPE_AND_SIGN = re.compile(r"[A-Za-z][\w<>\[\]|. ]{0,30}?\s*=\s*(?=[\"'`])", _FLAGS)
SIZE = re.compile(r"\s*string\(\d{1,9}\)\s*", _FLAGS)
DOLLARS = re.compile(r"\$(\w{0,20})\$", _FLAGS)
CALL = re.compile(r"(?:await\s+|new\s+)?[A-Za-z_$][\w.$]{0,100}\(", _FLAGS)
WRAPPER = re.compile(
    r"(?:^|\.)(?:md5|sha\d{0,3}|sha2|crypt|password|encrypt|aes_encrypt|hash\w*|bcrypt\w*|secretstr|secret"
    r"|str|string|bytes|from|b64encode|base64|unhex|upper|lower|concat|convert|cast|digest|old_password|any|all|array)\($",
    re.IGNORECASE,
)
# ---- what a name stands in
FLAG_VALUE = re.compile(r"(?:\s+|\\*[\"']\s*,\s*)(?![-|&;]|<\s)", _FLAGS)
SPACED_BEFORE = re.compile(
    r"(?:\bENV|\bsetx|\bconfig(?:ure)?\s+set|\blogin\s+\S{1,100})\s+(?://\S{1,100}:)?$", _FLAGS
)
# "with password hunter22", "the API key is abc123": a word with letters and digits in it.
_FOR_WHOM = r"(?:\s+(?:for|of)\s+(?:the\s+)?[\w@.'-]{1,40}(?:\s+(?:user|account))?)?"
_VERB = r"\s+(?:is|was|ist|lautet|est|es)(?:\s+(?:now|still))?"
TOLD = re.compile(
    rf"(?P<verb>{_FOR_WHOM}{_VERB})?\s+(?P<word>[\w!#$%^&*+/=@-]{{6,200}})(?=[\s.,;)]|$)",
    _FLAGS,
)
TOLD_STRING = re.compile(rf"{_FOR_WHOM}{_VERB}\s+(?=\\*[\"'`])", _FLAGS)
ADJECTIVE = re.compile(
    r"(?:too |not |very )?(?:weak|strong|short|long|correct|accepted|rejected|secure|insecure)\b", _FLAGS
)
MIXED = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])", _FLAGS)
SETTER = re.compile(
    r"(?:set|put|add|append|header|env|insert|store|save|define|property|config)\w*\s*\(\s*"
    r"(?:[\w.]{1,40}\s*,\s*)?\\*[\"']$",
    _FLAGS | re.IGNORECASE,
)
PAIR_BEFORE = re.compile(r"[(\[]\s*\\*[\"']$", _FLAGS)
ENTITLED = re.compile(
    r"(?:\b(?:name|key|id|type|field|label|property|header|variable|param|parameter|parameterkey)"
    r"\\*[\"']?\s*[:=]\s*|"
    r"\bvariable\s+)\\*[\"']?[\w./ #-]{0,60}$",
    _FLAGS | re.IGNORECASE,
)
VALUE_WORD = re.compile(
    r"\b(?:parameter)?(?:value|content|default)\\*[\"']?\s*[:=]\s*", _FLAGS | re.IGNORECASE
)
END_OF_ENTRY = re.compile(r"[>}]|\n\s*-|\n\s*\n|(?<=\n)\S", _FLAGS)
FORM_PART = re.compile(r"\"\r?\n\r?\n", _FLAGS)
TAG_BEGINS = re.compile(r"<(?:[\w.-]{1,40}:)?$", _FLAGS)
REST_OF_TAG = re.compile(r"(?:[^<>/\"']|/(?!>)|\"[^\"<>]*\"|'[^'<>]*'){0,50}>", _FLAGS)
CLOSED_AND_NEXT = re.compile(r"\s*</(?:key|name|dt)>\s*<[\w:]{1,40}>", _FLAGS | re.IGNORECASE)
CDATA = "<![CDATA["
SPACE = re.compile(r"\s+", _FLAGS)
SPACE_AND_QUOTE = re.compile(r"\s+(?=[A-Za-z]?[\"'$])", _FLAGS)
END_OF_OPEN_TAG = re.compile(r"[^<>]{0,200}[^/<>]>(?=[^<\s])", _FLAGS)
IN_TAG = re.compile(r"<[^<>]{0,100}$", _FLAGS)
USER = re.compile("user|login|host|uid|email", _FLAGS | re.IGNORECASE)
DOUBLED = re.compile(r"''(?=[^'\s,);])[^']*''", _FLAGS)
BRACED = re.compile(r"\{[^{}\n]{1,200}\}(?=;|$|\s)", _FLAGS)
BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*\r?\n", _FLAGS)
ITEM = re.compile(r"\s*\n([ \t]*)- ", _FLAGS)
