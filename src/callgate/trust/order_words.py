"""What an order to the model reads like, in nine languages: the words of `orders`. Pure data.

Written for `re2_rules.phrase`: a space stands for any sign between two words, `~` for up to three words,
`=` for up to six, `*` for the rest of a word.
"""

# ---- silence towards the user

SILENCE = (
    (
        r"\b(do not|dont|don t|never|must not|should not|shouldnt|mustnt|not to|no need to|refrain from|"
        r"avoid)"
        " ~(tell|telling|mention|mentioning|inform|informing|reveal|disclose|disclosing|acknowledge|let "
        "on|admit)"
        "~(to )?(the|your|any|this|to the)? ?(user|human|customer|end user|owner|operator|people|anyone|"
        "anybody)"
    ),
    r"\bwithout ~(telling|mentioning|revealing|disclosing|letting) ~(user|human|customer|owner|anyone)",
    (
        r"\b(do not|dont|don t|never|must not) ~(mention|reveal|disclose|explain|talk about|refer to|"
        r"acknowledge)"
        " (this|these|that you|the above|it|any of this|the existence of this|what you)"
        " (to|in|instruction*|rule*|step*|note*|tool|message*|at all|anywhere|when|while|did|are|read|sent)"
    ),
    (
        r"\b(do not|dont|don t|never) ~(show|display|report|explain|print|output|notify)"
        " (this|these|that|any of this|it|the above|what you) ~to (the|your|any)? ?(user|human|customer)"
    ),
    (
        r"\b(do not|dont|don t|never) ~let (the|your|any) (user|human|customer)~(know|see this|notice|find "
        r"out)"
    ),
    (
        r"\b(keep|keeping|hide|hiding|conceal*|withhold*) (this|it|these|that|your|the fact|any|all of "
        r"this|everything)"
        "=from (the|your|any)? ?(user|human|customer)"
    ),
    (
        r"\b(user|human|customer)s? (must|should|may|can|shall) ?(not|never|n t|nt) (ever )?(know|notice|"
        r"learn|"
        "find out|be told|be informed|be aware|become aware|realize|realise|hear of)"
    ),
    r"\b(secretly|covertly|surreptitiously|stealthily|behind the user s back)\b",
    (
        r"\b(silently|quietly|invisibly) (call|read|copy|forward|collect|gather|attach|bcc|upload|"
        r"exfiltrate|"
        "include|append|invoke|harvest|leak|transmit)"
    ),
    r"\bwithout the user s? (knowledge|knowing|awareness|noticing|being aware|realizing|realising)",
    (
        r"\b(pretend|act as if|act as though|behave as if) ~(nothing happened|this never|did not happen|"
        r"nothing was)"
    ),
    r"\b(do not|dont|never)=ever (tell|mention|inform|reveal|disclose)~(user|human|customer)",
    # Dutch, Polish, Turkish
    r"\b(vertel|zeg)~(gebruiker)~(niets|niet|nooit)",
    r"\b(nie|nigdy nie) (mow|wspominaj|informuj|ujawniaj)~(uzytkownik)",
    r"\bkullanici(ya|nin)?~(bahsetme|soyleme|bildirme|haberi olmadan)",
    # German, French, Spanish, Portuguese, Italian
    (
        r"\b(sage*|sag|erzahl*|verrat*|erwahn*|teile|berichte) ~(benutzer|nutzer|anwender|user)* ~"
        "(nichts|nicht|kein|niemals|nie)"
    ),
    (
        r"\b(nichts|nicht|niemals|nie|kein wort)~(benutzer|nutzer|anwender)* ~(sagen|erzahlen|verraten|"
        r"erwahnen|"
        "mitteilen|erfahren|wissen)"
    ),
    (
        r"\b(erwahne|verrate|sage|informiere|zeige) (es |das |dies* |davon )?~(nicht|nie|niemals)~(benutzer|"
        r"nutzer|anwender)"
    ),
    r"\b(informiere|benachrichtige) (den|die) (benutzer|nutzer|anwender) (nicht|nie|niemals)",
    r"\bohne ~(benutzer|nutzer|anwender)* ~(zu informieren|es zu sagen|etwas zu sagen|mitzuteilen|wissen)",
    r"\b(benutzer|nutzer|anwender) darf ~(nicht|nichts|nie)~(erfahren|wissen|merken|bemerken)",
    (
        r"\b(ne|n) (le |l |en |lui |jamais )%(dis|dites|dire|mentionne*|revele*|parle*|informe*|signale*|"
        r"previens)"
        "=utilisateur"
    ),
    (
        r"\bsans (le |l |en |lui |que )%(dire|informer|prevenir|avertir|parler|mentionner|"
        r"signaler)=utilisateur"
    ),
    r"\bsans que l utilisateur~(sache|remarque|voie)",
    r"\b(cache*|dissimule*) (cela|ceci|ca|le|la|les|cette|ces|tout)?~(a l |de l )utilisateur",
    (
        r"\b(no|nunca|jamas) (se |le |lo |les |la )%(digas|diga|decir|menciones|mencione|informes|"
        r"informe|reveles|"
        "revele|cuentes|cuente|comentes|avises)=usuario"
    ),
    r"\bsin (decir*|informar|avisar|mencionar*|revelar)=usuario",
    r"\bsin que (el|la|los) usuari*~(sepa*|note*|vea*|entere*)",
    r"\b(oculta*|esconde*) (esto|eso|lo|la|este|esta|todo)~(al|del) usuario",
    (
        r"\b(nao|nunca|jamais) (o |a |lhe |isso )%(diga*|conte|conta|mencione|informe|revele|avise|"
        r"comente|fale)="
        "(usuario|utilizador)"
    ),
    r"\bsem (dizer|informar|avisar|contar|mencionar|revelar)=(usuario|utilizador)",
    r"\bsem que (o|a) (usuario|utilizador)~(saiba|perceba|note|veja)",
    r"\b(esconda|oculte|esconde|oculta) (isto|isso|este|esta|tudo)~(do|ao) (usuario|utilizador)",
    (
        r"\b(non|mai) (lo |la |gli |ne )%(dire|dirlo|dica|dite|menzionar*|informare|rivelar*|avvisare|"
        r"comunicar*|"
        "parlarne)=utente"
    ),
    r"\bsenza (dir*|informare|avvisare|menzionar*|rivelar*|farlo sapere)=utente",
    r"\bsenza che l utente~(sappia|noti|veda|se ne accorga)",
    r"\b(nascondi*|cela) (questo|cio|tutto|questa|la|il)~(all|dall) utente",
    # Russian
    (
        r"\bне (говори*|сообщай*|упоминай*|рассказывай*|раскрывай*|показывай* это|говорить|сообщать|"
        r"упоминать)"
        "=пользовател"
    ),
    r"\b(скрой*|скрывай*|утаи*) (это|этот|эту|всё|все)?~от пользовател",
    r"\bбез (ведома|уведомления об этом) пользовател",
    r"\b(втайне|тайно) (от пользовател|отправь|отправляй|передай|прочитай|вызови|скопируй)",
    r"\bпользователь (не должен|не обязан|никогда не должен) ~(знать|узнать|видеть это|заметить)",
)
SILENCE_CJK = (
    # Korean, Arabic, Hindi
    r"(사용자|유저)(에게|한테)[^.\n]{0,10}?(알리지|말하지|언급하지|밝히지) ?(마|말)",
    r"(لا|الا) (تخبر|تذكر|تبلغ)[^.\n]{0,12}?(المستخدم|للمستخدم)",
    r"(उपयोगकर्ता|यूज़र)[^.\n]{0,8}?(मत|ना) (बता|कह)",
    (
        r"(不要|别|切勿|禁止|不得|请勿|不可|绝不|不能|千万别|無需|无需|不用)[^。.\n]{0,10}?(告诉|告诉给|告知|透露|提及|提到|泄露给|讲给|汇报给)"
        r"[^。.\n]{0,6}?(用户|使用者|客户)"
    ),
    r"(不要|别|不得|不能|不可|切勿|绝不能?)让(用户|使用者|客户)(知道|发现|察觉|看到这|得知)",
    r"(瞒着|背着|隐瞒|对)(用户|使用者|客户)(保密|隐瞒)?.{0,4}?(调用|读取|发送|执行|保密|隐瞒)",
    r"(不要|别|切勿|请勿|不得)(在回复中|在回答中|向用户|对用户)[^。.\n]{0,6}?(提及|提到|说明|透露|说起)",
    r"(用户|使用者)(不能|不得|不应|不该|不可)(知道|得知|发现|察觉)",
    (
        r"(ユーザ一?ー?|利用者|使用者)(に|には|へ|に対して)[^。.\n]{0,12}?(言わない|伝えない|知らせない|教えない|話さない|明かさない|"
        r"報告しない|言及しない|言うな|伝えるな|知らせるな|教えるな|話すな|内緒|秘密に|隠し|気づかれ|悟られ)"
    ),
    r"(ユーザ一?ー?|利用者|使用者)から[^。.\n]{0,4}?隠",
    r"(ユーザ一?ー?|利用者)(の|に)(知らない|無断|断りなく|気づかない)",
)

# ---- other servers' tools

_TOOLS = "(tool|function|werkzeug|funktion|outil|herramienta|ferramenta|strument|инструмент|funcion)*"
_OTHER_SERVERS = (
    "(other|another|different|foreign|remaining) (mcp )?(server|provider|plugin|integration|connector)*",
    "ander(er|e|en|em|es) (mcp )?(server|servern|servers|dienst|dienste|diensten)",
    "(autre|autres) (mcp )?serveur*",
    "(otro|otros|demas) (mcp )?servidor*",
    "(outro|outros|demais) (mcp )?servidor*",
    "(altri|altro|altre) (mcp )?server",
    "(другого|других|другие|другим|остальных) (mcp )?сервер*",
)
_MUST = (
    "(do not|dont|don t|never|always|must|instead|ignore|disable|whenever|before|every time|each time|"
    "refuse|stop|"
    "override|overrides|supersede*|niemals|nie|nicht|immer|musst|muss|ignoriere|jamais|toujours|dois|devez|"
    "n utilise*|ignore*|nunca|siempre|debe*|no uses|no use|nao use|nao utilize|sempre|deve*|mai|non usare|"
    "никогда|всегда|должен|должна|не используй*|не вызывай*|игнорируй*)"
)
_IN_SENTENCE = r"[^.!?;\n]*"
_OTHERS = f"({'|'.join(_OTHER_SERVERS)})"
OTHER_TOOLS = (
    (
        r"\b(send|pass|forward|route|copy|pipe|submit|post|report)~(output|result|response|answer|"
        r"argument)s? (of|from) (every|any|all|each) "
        "(other )?tool"
    ),
    rf"\b{_MUST} ={_TOOLS}~{_OTHERS}",
    rf"\b{_TOOLS}~{_OTHERS}={_MUST}",
    rf"\b{_OTHERS}={_TOOLS}~{_MUST}",
    (
        r"\b(output|result|response|argument|input|answer)*s? (of|from|to) (every|any|all|each) (other "
        r")?tool*="
        "(send|pass|forward|route|copy|log|report|include|pipe|submit|post)"
    ),
    (
        r"\b(send|pass|forward|route|copy|pipe|submit|post|report)~(every|any|all|each) (other )?tool* ?"
        "(call|output|result|response|argument|input)*s?=(this tool|this server|to this|through this|"
        "here|http)"
    ),
    (
        r"\b(after|before|with|for|on) (every|any|all|each) (other )?tool* ?(call|use|response|result|"
        r"output)*s?="
        "(call|invoke|use|run) this (tool|function)?~(with|and pass|and include)"
    ),
    (
        r"\b(override|overrides|supersede*|replaces|shadow*|disable|disables) ~(any|all|every|the) other "
        r"~(tool|server)s?"
    ),
    (
        r"\b(refuse to|stop|never|do not|dont) (use|using|call|calling|trust|trusting) (any|all|the) other "
        r"(tool|server|mcp)s?"
    ),
)
OTHER_TOOLS_CJK = (
    (
        r"(不要|禁止|必须|总是|切勿|忽略|每次|务必|不得|始终)[^。.\n]{0,16}?(其他|其它|别的|另一个|另外的)(mcp)?[^。.\n]{0,4}?(服务器|服务|服务端)"
        r"[^。.\n]{0,6}?(工具|函数)"
    ),
    (
        r"(其他|其它|别的|另一个|另外的)(mcp)?[^。.\n]{0,4}?(服务器|服务|服务端)[^。.\n]{0,6}?(工具|函数)[^。.\n]{0,16}?"
        r"(不要|禁止|必须|总是|切勿|忽略|先|都要|务必|改为|替换)"
    ),
    (
        r"(他|別|ほか)の(mcp)?(サ一?ーバ一?ー?|サービス)[^。.\n]{0,8}?(ツ一?ール|道具|機能)[^。.\n]{0,20}?"
        r"(使わない|使用しない|使うな|呼ばない|無視|必ず|決して|禁止|置き換え|変更し)"
    ),
)
# Where any of these may be. Words without gaps: a long text is looked through for them at once.
ABOUT_OTHER_TOOLS = (
    _OTHERS,
    "(every|any|all|each|the) (other )?(tool|server|mcp)",
    "(其他|其它|别的|另一个|另外的|他の|別の|ほかの)",
)
# A call of a tool by its name, and behind it what is to be done to it: hold only if it is not one of this
# server's own.
NAMED_TOOL = (
    r"\b(?:when|whenever|if|before|after|every time|each time|once|anytime)\s+(?:(?:you|the|a|an|any|is|"
    r"are|"
    r"assistant|agent|model|user|asks|to|wants|want|need|needs)\s+){0,4}(?:use|uses|using|call|calls|"
    r"calling|"
    r"called|invoke|invokes|invoking|run|running|execute|executing)\s+(?:the\s+)?[`'\"]?"
    r"([a-z][a-z0-9]*(?:[_.-][a-z0-9]+)*)[`'\"]?(\s+(?:tool|function))?"
)
TO_BE_DONE = (
    r"[^.\n;!?]*?\b(?:change|replace|"
    r"modify|"
    r"redirect|rewrite|swap|substitute|override|bcc|set|add|append|include|prepend|insert|also|instead)\b"
)
