"""What an order to the model reads like, in nine languages: the words of `orders`. Pure data.

Written for `re2_rules.phrase`: a space stands for any sign between two words, `~` for up to three words,
`=` for up to six, `*` for the rest of a word.
"""

# ---- silence towards the user

SILENCE = (
    (r"\b(do not|dont|don t|never|must not|should not|shouldnt|mustnt|not to|no need to|refrain from|avoid)"
    " ~(tell|telling|mention|mentioning|inform|informing|reveal|disclose|disclosing|acknowledge|let on|admit)"
    "~(to )?(the|your|any|this|to the)? ?(user|human|customer|end user|owner|operator|people|anyone|anybody)"),
    r"\bwithout ~(telling|mentioning|revealing|disclosing|letting) ~(user|human|customer|owner|anyone)",
    (r"\b(do not|dont|don t|never|must not) ~(mention|reveal|disclose|explain|talk about|refer to|acknowledge)"
    " (this|these|that you|the above|it|any of this|the existence of this|what you)"
    " (to|in|instruction*|rule*|step*|note*|tool|message*|at all|anywhere|when|while|did|are|read|sent)"),
    (r"\b(do not|dont|don t|never) ~(show|display|report|explain|print|output|notify)"
    " (this|these|that|any of this|it|the above|what you) ~to (the|your|any)? ?(user|human|customer)"),
    r"\b(do not|dont|don t|never) ~let (the|your|any) (user|human|customer)~(know|see this|notice|find out)",
    (r"\b(keep|keeping|hide|hiding|conceal*|withhold*) (this|it|these|that|your|the fact|any|all of this|everything)"
    "=from (the|your|any)? ?(user|human|customer)"),
    (r"\b(user|human|customer)s? (must|should|may|can|shall) ?(not|never|n t|nt) (ever )?(know|notice|learn|"
    "find out|be told|be informed|be aware|become aware|realize|realise|hear of)"),
    r"\b(secretly|covertly|surreptitiously|stealthily|behind the user s back)\b",
    (r"\b(silently|quietly|invisibly) (call|read|copy|forward|collect|gather|attach|bcc|upload|exfiltrate|"
    "include|append|invoke|harvest|leak|transmit)"),
    r"\bwithout the user s? (knowledge|knowing|awareness|noticing|being aware|realizing|realising)",
    r"\b(pretend|act as if|act as though|behave as if) ~(nothing happened|this never|did not happen|nothing was)",
    r"\b(do not|dont|never)=ever (tell|mention|inform|reveal|disclose)~(user|human|customer)",
    # Dutch, Polish, Turkish
    r"\b(vertel|zeg)~(gebruiker)~(niets|niet|nooit)",
    r"\b(nie|nigdy nie) (mow|wspominaj|informuj|ujawniaj)~(uzytkownik)",
    r"\bkullanici(ya|nin)?~(bahsetme|soyleme|bildirme|haberi olmadan)",
    # German, French, Spanish, Portuguese, Italian
    (r"\b(sage*|sag|erzahl*|verrat*|erwahn*|teile|berichte) ~(benutzer|nutzer|anwender|user)* ~"
    "(nichts|nicht|kein|niemals|nie)"),
    (r"\b(nichts|nicht|niemals|nie|kein wort)~(benutzer|nutzer|anwender)* ~(sagen|erzahlen|verraten|erwahnen|"
    "mitteilen|erfahren|wissen)"),
    r"\b(erwahne|verrate|sage|informiere|zeige) (es |das |dies* |davon )?~(nicht|nie|niemals)~(benutzer|nutzer|anwender)",
    r"\b(informiere|benachrichtige) (den|die) (benutzer|nutzer|anwender) (nicht|nie|niemals)",
    r"\bohne ~(benutzer|nutzer|anwender)* ~(zu informieren|es zu sagen|etwas zu sagen|mitzuteilen|wissen)",
    r"\b(benutzer|nutzer|anwender) darf ~(nicht|nichts|nie)~(erfahren|wissen|merken|bemerken)",
    (r"\b(ne|n) (le |l |en |lui |jamais )%(dis|dites|dire|mentionne*|revele*|parle*|informe*|signale*|previens)"
    "=utilisateur"),
    r"\bsans (le |l |en |lui |que )%(dire|informer|prevenir|avertir|parler|mentionner|signaler)=utilisateur",
    r"\bsans que l utilisateur~(sache|remarque|voie)",
    r"\b(cache*|dissimule*) (cela|ceci|ca|le|la|les|cette|ces|tout)?~(a l |de l )utilisateur",
    (r"\b(no|nunca|jamas) (se |le |lo |les |la )%(digas|diga|decir|menciones|mencione|informes|informe|reveles|"
    "revele|cuentes|cuente|comentes|avises)=usuario"),
    r"\bsin (decir*|informar|avisar|mencionar*|revelar)=usuario",
    r"\bsin que (el|la|los) usuari*~(sepa*|note*|vea*|entere*)",
    r"\b(oculta*|esconde*) (esto|eso|lo|la|este|esta|todo)~(al|del) usuario",
    (r"\b(nao|nunca|jamais) (o |a |lhe |isso )%(diga*|conte|conta|mencione|informe|revele|avise|comente|fale)="
    "(usuario|utilizador)"),
    r"\bsem (dizer|informar|avisar|contar|mencionar|revelar)=(usuario|utilizador)",
    r"\bsem que (o|a) (usuario|utilizador)~(saiba|perceba|note|veja)",
    r"\b(esconda|oculte|esconde|oculta) (isto|isso|este|esta|tudo)~(do|ao) (usuario|utilizador)",
    (r"\b(non|mai) (lo |la |gli |ne )%(dire|dirlo|dica|dite|menzionar*|informare|rivelar*|avvisare|comunicar*|"
    "parlarne)=utente"),
    r"\bsenza (dir*|informare|avvisare|menzionar*|rivelar*|farlo sapere)=utente",
    r"\bsenza che l utente~(sappia|noti|veda|se ne accorga)",
    r"\b(nascondi*|cela) (questo|cio|tutto|questa|la|il)~(all|dall) utente",
    # Russian
    (r"\bне (говори*|сообщай*|упоминай*|рассказывай*|раскрывай*|показывай* это|говорить|сообщать|упоминать)"
    "=пользовател"),
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
    (r"(不要|别|切勿|禁止|不得|请勿|不可|绝不|不能|千万别|無需|无需|不用)[^。.\n]{0,10}?(告诉|告诉给|告知|透露|提及|提到|泄露给|讲给|汇报给)"
    r"[^。.\n]{0,6}?(用户|使用者|客户)"),
    r"(不要|别|不得|不能|不可|切勿|绝不能?)让(用户|使用者|客户)(知道|发现|察觉|看到这|得知)",
    r"(瞒着|背着|隐瞒|对)(用户|使用者|客户)(保密|隐瞒)?.{0,4}?(调用|读取|发送|执行|保密|隐瞒)",
    r"(不要|别|切勿|请勿|不得)(在回复中|在回答中|向用户|对用户)[^。.\n]{0,6}?(提及|提到|说明|透露|说起)",
    r"(用户|使用者)(不能|不得|不应|不该|不可)(知道|得知|发现|察觉)",
    (r"(ユーザ一?ー?|利用者|使用者)(に|には|へ|に対して)[^。.\n]{0,12}?(言わない|伝えない|知らせない|教えない|話さない|明かさない|"
    r"報告しない|言及しない|言うな|伝えるな|知らせるな|教えるな|話すな|内緒|秘密に|隠し|気づかれ|悟られ)"),
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
    "(do not|dont|don t|never|always|must|instead|ignore|disable|whenever|before|every time|each time|refuse|stop|"
    "override|overrides|supersede*|niemals|nie|nicht|immer|musst|muss|ignoriere|jamais|toujours|dois|devez|"
    "n utilise*|ignore*|nunca|siempre|debe*|no uses|no use|nao use|nao utilize|sempre|deve*|mai|non usare|"
    "никогда|всегда|должен|должна|не используй*|не вызывай*|игнорируй*)"
)
_IN_SENTENCE = r"[^.!?;\n]*"
_OTHERS = f"({'|'.join(_OTHER_SERVERS)})"
OTHER_TOOLS = (
    r"\b(send|pass|forward|route|copy|pipe|submit|post|report)~(output|result|response|answer|argument)s? (of|from) (every|any|all|each) "
    "(other )?tool",
    rf"\b{_MUST} ={_TOOLS}~{_OTHERS}",
    rf"\b{_TOOLS}~{_OTHERS}={_MUST}",
    rf"\b{_OTHERS}={_TOOLS}~{_MUST}",
    (r"\b(output|result|response|argument|input|answer)*s? (of|from|to) (every|any|all|each) (other )?tool*="
    "(send|pass|forward|route|copy|log|report|include|pipe|submit|post)"),
    (r"\b(send|pass|forward|route|copy|pipe|submit|post|report)~(every|any|all|each) (other )?tool* ?"
    "(call|output|result|response|argument|input)*s?=(this tool|this server|to this|through this|here|http)"),
    (r"\b(after|before|with|for|on) (every|any|all|each) (other )?tool* ?(call|use|response|result|output)*s?="
    "(call|invoke|use|run) this (tool|function)?~(with|and pass|and include)"),
    r"\b(override|overrides|supersede*|replaces|shadow*|disable|disables) ~(any|all|every|the) other ~(tool|server)s?",
    r"\b(refuse to|stop|never|do not|dont) (use|using|call|calling|trust|trusting) (any|all|the) other (tool|server|mcp)s?",
)
OTHER_TOOLS_CJK = (
    (r"(不要|禁止|必须|总是|切勿|忽略|每次|务必|不得|始终)[^。.\n]{0,16}?(其他|其它|别的|另一个|另外的)(mcp)?[^。.\n]{0,4}?(服务器|服务|服务端)"
    r"[^。.\n]{0,6}?(工具|函数)"),
    (r"(其他|其它|别的|另一个|另外的)(mcp)?[^。.\n]{0,4}?(服务器|服务|服务端)[^。.\n]{0,6}?(工具|函数)[^。.\n]{0,16}?"
    r"(不要|禁止|必须|总是|切勿|忽略|先|都要|务必|改为|替换)"),
    (r"(他|別|ほか)の(mcp)?(サ一?ーバ一?ー?|サービス)[^。.\n]{0,8}?(ツ一?ール|道具|機能)[^。.\n]{0,20}?"
    r"(使わない|使用しない|使うな|呼ばない|無視|必ず|決して|禁止|置き換え|変更し)"),
)
# Where any of these may be. Words without gaps: a long text is looked through for them at once.
ABOUT_OTHER_TOOLS = (
    _OTHERS,
    "(every|any|all|each|the) (other )?(tool|server|mcp)",
    "(其他|其它|别的|另一个|另外的|他の|別の|ほかの)",
)
# A call of a tool by its name, and what is to be done to it: hold only if it is not one of this server's own.
NAMED_TOOL = (
    r"\b(?:when|whenever|if|before|after|every time|each time|once|anytime)\s+(?:(?:you|the|a|an|any|is|are|"
    r"assistant|agent|model|user|asks|to|wants|want|need|needs)\s+){0,4}(?:use|uses|using|call|calls|calling|"
    r"called|invoke|invokes|invoking|run|running|execute|executing)\s+(?:the\s+)?[`'\"]?"
    r"([a-z][a-z0-9]*(?:[_.-][a-z0-9]+)*)[`'\"]?(\s+(?:tool|function))?[^.\n;!?]*?\b(?:change|replace|modify|"
    r"redirect|rewrite|swap|substitute|override|bcc|set|add|append|include|prepend|insert|also|instead)\b"
)

# ---- what was said, and to whom it goes

_SEND = (
    "(include|including|pass|passing|send|sending|put|append|attach|forward|copy|paste|submit|log|upload|insert|"
    "embed|encode|post|dump|transmit|relay|write|supply|provide|leak|exfiltrate)\\b"
)
_WHOLE = "(entire|full|whole|complete|all|verbatim|previous|prior|past|raw|exact|recent|user s|your|current)"
_SAID = (
    "(conversation|chat history|chat log*|chat transcript|dialog|dialogue|message history|previous messages|"
    "prior messages|earlier messages|system prompt|system message|context window|hidden instructions|"
    "developer message|user s? (messages|prompts|questions)|tool (results|outputs|responses))"
)
_TO = "(as|in|into|to|via|through|here|inside|within|using)"
EXFILTRATION = (
    rf"\b{_SEND}~{_WHOLE}~{_SAID}={_TO}\b",
    (r"\b(reveal|print|repeat|output|include|pass|send|copy|leak|disclose|append|attach|put|paste|dump|insert|return)"
    "~your ~(system prompt|system message|hidden instructions|initial instructions|instructions verbatim|"
    "developer message|internal instructions|full prompt|entire prompt|full context|entire context)"),
    (r"\b(entire|full|whole|complete|verbatim) ~(conversation|chat history|system prompt|message history)"
    "=(must|should|has to|needs to|shall|is to) be (included|passed|sent|attached|provided|supplied|put|copied)"),
    (r"\b(after|before|on|for|with|in) (every|each|any|all) ~(message|reply|answer|turn|prompt|question)s?="
    "(call|invoke|send|forward|post|report)=(user s?|entire|full|whole|verbatim|their) "
    "(message|text|words|conversation|prompt|content|answer|question|input)"),
    (r"\b(always|also|additionally|then|and) ~(bcc|blind copy|send a copy|forward a copy|send it|cc)="
    r"[a-z0-9._%+-]+@[a-z0-9-]+[.][a-z]"),
    (r"\b(change|replace|set|swap|rewrite|redirect)~(recipient|to address|destination|account number|iban|wallet|"
    r"payee|beneficiary|to field)*=(to|with|by)=([a-z0-9._%+-]+@[a-z0-9-]+[.]|0x[0-9a-f][0-9a-f]|bc1|[a-z][a-z]\d\d[ ]?\d)"),
    (
        r"\b(entire|full|whole|complete) (conversation|chat|dialog|dialogue|chat history)="
        "(put|place|write|pass|send|submit|include) (it|that|this) (in|into|as|to|via)"
    ),
    (
        r"!\[[^\]]*\][(]https?:[^)]*[{<$][^)]*"
        "(conversation|history|secret|token|context|prompt|password|messages|chat)"
    ),
    # German, French, Spanish, Portuguese, Italian, Russian
    (r"\b(sende*|schick*|ubergib|fuge|hang*|kopier*|leite*|ubermittle*|gib|ubertrag*|schreib*)="
    "(gesamt*|ganz*|komplett*|vollstandig*|bisherig*)~(unterhaltung|konversation|gesprach*|chatverlauf|verlauf|systemprompt)"),
    (r"\b(envoie*|envoye*|transmet*|inclu*|passe*|copie*|joins|joigne*|ajoute*|mets|mettez)="
    "(toute|entiere|integral*|complet*|historique)~(conversation|discussion|echange*|dialogue|la conversation)"),
    (r"\b(envoie*|envoye*|transmet*|inclu*|passe*|copie*|joins|joigne*|ajoute*|mets|mettez)~conversation "
    "(entiere|complete|integrale)"),
    (r"\b(envia*|envie*|incluye*|incluya*|pasa*|pase*|adjunta*|copia*|reenvia*|manda*|pon|ponga)="
    "(toda|todo|entera|completa|completo|historial)~(conversacion|charla|dialogo|chat|la conversacion)"),
    r"\b(envia*|envie*|incluye*|incluya*|pasa*|pase*|adjunta*|copia*|manda*)~conversacion (entera|completa)",
    (r"\b(envie*|inclua*|passe*|anexe*|copie*|encaminhe*|mande*|coloque*)="
    "(toda|todo|inteira|completa|historico)~(conversa|dialogo|chat|da conversa)"),
    r"\b(envie*|inclua*|passe*|anexe*|copie*|encaminhe*|mande*)~conversa (inteira|completa)",
    (r"\b(invia*|includi*|passa*|allega*|copia*|inoltra*|manda*|inserisci*)="
    "(intera|tutta|completa|cronologia)~(conversazione|chat|dialogo|della conversazione)"),
    (r"\b(отправ*|переда*|включи*|включай*|перешли*|скопируй*|добавь*|вставь*|приложи*)="
    "(весь|всю|вся|всей|полную|полный|целиком|историю)~(диалог*|переписк*|разговор*|бесед*|истори*|контекст*|чат*)"),
)
EXFILTRATION_CJK = (
    (r"(整个|全部|完整|所有|全文|整段)(的)?[^。.\n]{0,5}?(对话|聊天|会话|上下文|历史消息|系统提示)[^。.\n]{0,12}?"
    r"(发送|传递|传给|传入|放入|填入|附加|提交|上传|发给|发到|写入|放进|填到|包含在)"),
    r"(发送|传递|传入|放入|填入|附上|提交|上传|附加)[^。.\n]{0,6}?(整个|全部|完整|所有)(的)?[^。.\n]{0,4}?(对话|聊天|会话|上下文|系统提示)",
    (r"(会話|チャット|やり取り|やりとり|対話|システムプロンプト)(の|履歴の|履歴を)?(全体|すべて|全て|全文|内容|全部|を)[^。.\n]{0,12}?"
    r"(送信|送って|送り|渡し|渡す|含め|入れて|添付|コピ一?ー|貼り付け)"),
)

ABOUT_WHAT_WAS_SAID = (
    _SAID,
    "(system prompt|instructions verbatim|initial instructions|internal instructions|full prompt|entire prompt|context)",
    "(every|each|any|all) (single |user )?(message|reply|answer|turn|prompt|question)",
    "(bcc|blind copy|a copy|send it|recipient|to address|destination|account number|iban|wallet|payee|beneficiary|to field)",
    "(unterhaltung|konversation|gesprach|verlauf|systemprompt|discussion|echange|dialog|conversacion|charla|chat|conversa)",
    "(диалог|переписк|разговор|бесед|истори|контекст|чат)",
    "(对话|聊天|会话|上下文|历史消息|系统提示|会話|チャット|やり取り|やりとり|対話|システムプロンプト)",
)

# ---- instructions of others

OVERRIDE = (
    (r"\b(ignore|disregard|forget|discard|neglect) ~(previous|prior|above|earlier|preceding|foregoing|your|system|other|"
    "former) ~(instruction*|prompt*|guideline*|direction*|directive*|programming|safety rule*|training)"),
    r"\b(earlier|prior|previous|former) (rule*|guidance|instruction*|guideline*|prompt*)~(void|no longer|invalid|"
    "obsolete|are replaced|do not apply|superseded|are cancelled)",
    r"\b(bypass|override|disable|circumvent) your ~(safety|security|guideline*|restriction*|instruction*|filter*|rule*)",
    (r"\b(ignoriere*|vergiss|vergesse*|missachte*)~(vorherig*|vorig*|bisherig*|obig*|fruher*|vorangegangen*|all*)~"
    "(anweisung*|instruktion*|regel*|vorgabe*)"),
    r"\b(ignore*|oublie*)~(instruction*|consigne*|directive*)~(precedent*|anterieur*|ci dessus)",
    (r"\b(ignora*|ignore*|olvida*|olvide*|esqueca|esquece)~(instruccion*|instruco*|indicacion*|regras)~"
    "(anterior*|previa*|precedente*)"),
    r"\b(ignora*|dimentica*)~(istruzion*|indicazion*)~(precedent*|anterior*)",
    r"\b(ignora*|dimentica*)~(precedent*)~(istruzion*|indicazion*)",
    r"\b(игнорируй*|забудь*|не обращай* внимания на)~(предыдущ*|прежн*|прошл*|все)~(инструкци*|указани*|правил*)",
)
OVERRIDE_CJK = (
    r"(忽略|无视|忘记|忘掉|不理会|忽视)[^。.\n]{0,8}?(之前|以前|先前|上述|前面|以上|此前|原有|系统)[^。.\n]{0,6}?(指令|指示|说明|规则|提示|要求)",
    r"(これまで|以前|前|上記|今まで|従来)の?[^。.\n]{0,6}?(指示|命令|指令|ル一?ール|プロンプト)[^。.\n]{0,6}?(無視|忘れ|破棄)",
)
