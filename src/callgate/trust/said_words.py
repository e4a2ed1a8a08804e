"""Orders to pass on what was said, and to ignore instructions, in nine languages: more words of `orders`.

Written as in `order_words`. Pure data.
"""

# ---- what was said, and to whom it goes

_SEND = (
    "(include|including|pass|passing|send|sending|put|append|attach|forward|copy|paste|submit|log|upload|"
    "insert|"
    "embed|encode|post|dump|transmit|relay|write|supply|provide|leak|exfiltrate)\\b"
)
_WHOLE = "(entire|full|whole|complete|all|verbatim|previous|prior|past|raw|exact|recent|user s|your|current)"
_SAID = (
    "(conversation|chat history|chat log*|chat transcript|dialog|dialogue|message history|previous "
    "messages|"
    "prior messages|earlier messages|system prompt|system message|context window|hidden instructions|"
    "developer message|user s? (messages|prompts|questions)|tool (results|outputs|responses))"
)
_TO = "(as|in|into|to|via|through|here|inside|within|using)"
EXFILTRATION = (
    rf"\b{_SEND}~{_WHOLE}~{_SAID}={_TO}\b",
    (
        r"\b(reveal|print|repeat|output|include|pass|send|copy|leak|disclose|append|attach|put|paste|"
        r"dump|insert|return)"
        "~your ~(system prompt|system message|hidden instructions|initial instructions|instructions "
        "verbatim|"
        "developer message|internal instructions|full prompt|entire prompt|full context|entire context)"
    ),
    (
        r"\b(entire|full|whole|complete|verbatim) ~(conversation|chat history|system prompt|message "
        r"history)"
        "=(must|should|has to|needs to|shall|is to) be (included|passed|sent|attached|provided|supplied|"
        "put|copied)"
    ),
    (
        r"\b(after|before|on|for|with|in) (every|each|any|all) ~(message|reply|answer|turn|prompt|"
        r"question)s?="
        "(call|invoke|send|forward|post|report)=(user s?|entire|full|whole|verbatim|their) "
        "(message|text|words|conversation|prompt|content|answer|question|input)"
    ),
    (
        r"\b(entire|full|whole|complete) (conversation|chat|dialog|dialogue|chat history)="
        "(put|place|write|pass|send|submit|include) (it|that|this) (in|into|as|to|via)"
    ),
    # German, French, Spanish, Portuguese, Italian, Russian
    (
        r"\b(sende*|schick*|ubergib|fuge|hang*|kopier*|leite*|ubermittle*|gib|ubertrag*|schreib*)="
        "(gesamt*|ganz*|komplett*|vollstandig*|bisherig*)~(unterhaltung|konversation|gesprach*|"
        "chatverlauf|verlauf|systemprompt)"
    ),
    (
        r"\b(envoie*|envoye*|transmet*|inclu*|passe*|copie*|joins|joigne*|ajoute*|mets|mettez)="
        "(toute|entiere|integral*|complet*|historique)~(conversation|discussion|echange*|dialogue|la "
        "conversation)"
    ),
    (
        r"\b(envoie*|envoye*|transmet*|inclu*|passe*|copie*|joins|joigne*|ajoute*|mets|"
        r"mettez)~conversation "
        "(entiere|complete|integrale)"
    ),
    (
        r"\b(envia*|envie*|incluye*|incluya*|pasa*|pase*|adjunta*|copia*|reenvia*|manda*|pon|ponga)="
        "(toda|todo|entera|completa|completo|historial)~(conversacion|charla|dialogo|chat|la conversacion)"
    ),
    (
        r"\b(envia*|envie*|incluye*|incluya*|pasa*|pase*|adjunta*|copia*|manda*)~conversacion (entera|"
        r"completa)"
    ),
    (
        r"\b(envie*|inclua*|passe*|anexe*|copie*|encaminhe*|mande*|coloque*)="
        "(toda|todo|inteira|completa|historico)~(conversa|dialogo|chat|da conversa)"
    ),
    r"\b(envie*|inclua*|passe*|anexe*|copie*|encaminhe*|mande*)~conversa (inteira|completa)",
    (
        r"\b(invia*|includi*|passa*|allega*|copia*|inoltra*|manda*|inserisci*)="
        "(intera|tutta|completa|cronologia)~(conversazione|chat|dialogo|della conversazione)"
    ),
    (
        r"\b(отправ*|переда*|включи*|включай*|перешли*|скопируй*|добавь*|вставь*|приложи*)="
        "(весь|всю|вся|всей|полную|полный|целиком|историю)~(диалог*|переписк*|разговор*|бесед*|истори*|"
        "контекст*|чат*)"
    ),
)
# A hidden copy, or another receiver. They begin with words that are everywhere.
COPIES = (
    (
        r"\b(always|also|additionally|then|and) ~(bcc|blind copy|send a copy|forward a copy|send it|cc)="
        r"[a-z0-9._%+-]+@[a-z0-9-]+[.][a-z]"
    ),
    (
        r"\b(change|replace|set|swap|rewrite|redirect)~(recipient|to address|destination|account number|"
        r"iban|wallet|"
        r"payee|beneficiary|to field)*=(to|with|by)=([a-z0-9._%+-]+@[a-z0-9-]+[.]|0x[0-9a-f][0-9a-f]|bc1|"
        r"[a-z][a-z]\d\d[ ]?\d)"
    ),
)
ABOUT_COPIES = (
    "(bcc|blind copy|a copy|send it|cc)",
    "(recipient|to address|destination|account number|iban|wallet|payee|beneficiary|to field)",
)
EXFILTRATION_CJK = (
    # A picture whose address carries what was said.
    (
        r"!\[[^\]\x1e]*\][(]https?:[^)\x1e]*[{<$][^)\x1e]*"
        "(conversation|history|secret|token|context|prompt|password|messages|chat)"
    ),
    (
        r"(整个|全部|完整|所有|全文|整段)(的)?[^。.\n]{0,5}?(对话|聊天|会话|上下文|历史消息|系统提示)[^。.\n]{0,12}?"
        r"(发送|传递|传给|传入|放入|填入|附加|提交|上传|发给|发到|写入|放进|填到|包含在)"
    ),
    r"(发送|传递|传入|放入|填入|附上|提交|上传|附加)[^。.\n]{0,6}?(整个|全部|完整|所有)(的)?[^。.\n]{0,4}?(对话|聊天|会话|上下文|系统提示)",
    (
        r"(会話|チャット|やり取り|やりとり|対話|システムプロンプト)(の|履歴の|履歴を)?(全体|すべて|全て|全文|内容|全部|を)[^。.\n]{0,12}?"
        r"(送信|送って|送り|渡し|渡す|含め|入れて|添付|コピ一?ー|貼り付け)"
    ),
)

ABOUT_WHAT_WAS_SAID = (
    _SAID,
    (
        "(system prompt|instructions verbatim|initial instructions|internal instructions|full prompt|entire "
        "prompt|context)"
    ),
    "(every|each|any|all) (single |user )?(message|reply|answer|turn|prompt|question)",
    (
        "(bcc|blind copy|a copy|send it|recipient|to address|destination|account number|iban|wallet|payee|"
        "beneficiary|to field)"
    ),
    (
        "(unterhaltung|konversation|gesprach|verlauf|systemprompt|discussion|echange|dialog|conversacion|"
        "charla|chat|conversa)"
    ),
    "(диалог|переписк|разговор|бесед|истори|контекст|чат)",
    "(对话|聊天|会话|上下文|历史消息|系统提示|会話|チャット|やり取り|やりとり|対話|システムプロンプト)",
)

# ---- instructions of others

OVERRIDE = (
    (
        r"\b(ignore|disregard|forget|discard|neglect) ~(previous|prior|above|earlier|preceding|foregoing|"
        r"your|system|other|"
        "former) ~(instruction*|prompt*|guideline*|direction*|directive*|programming|safety rule*|training)"
    ),
    (
        r"\b(earlier|prior|previous|former) (rule*|guidance|instruction*|guideline*|prompt*)~(void|no longer|"
        r"invalid|"
        "obsolete|are replaced|do not apply|superseded|are cancelled)"
    ),
    (
        r"\b(bypass|override|disable|circumvent) your ~(safety|security|guideline*|restriction*|instruction*|"
        r"filter*|rule*)"
    ),
    (
        r"\b(ignoriere*|vergiss|vergesse*|missachte*)~(vorherig*|vorig*|bisherig*|obig*|fruher*|"
        r"vorangegangen*|all*)~"
        "(anweisung*|instruktion*|regel*|vorgabe*)"
    ),
    r"\b(ignore*|oublie*)~(instruction*|consigne*|directive*)~(precedent*|anterieur*|ci dessus)",
    (
        r"\b(ignora*|ignore*|olvida*|olvide*|esqueca|esquece)~(instruccion*|instruco*|indicacion*|regras)~"
        "(anterior*|previa*|precedente*)"
    ),
    r"\b(ignora*|dimentica*)~(istruzion*|indicazion*)~(precedent*|anterior*)",
    r"\b(ignora*|dimentica*)~(precedent*)~(istruzion*|indicazion*)",
    (
        r"\b(игнорируй*|забудь*|не обращай* внимания на)~(предыдущ*|прежн*|прошл*|все)~(инструкци*|указани*|"
        r"правил*)"
    ),
)
OVERRIDE_CJK = (
    r"(忽略|无视|忘记|忘掉|不理会|忽视)[^。.\n]{0,8}?(之前|以前|先前|上述|前面|以上|此前|原有|系统)[^。.\n]{0,6}?(指令|指示|说明|规则|提示|要求)",
    r"(これまで|以前|前|上記|今まで|従来)の?[^。.\n]{0,6}?(指示|命令|指令|ル一?ール|プロンプト)[^。.\n]{0,6}?(無視|忘れ|破棄)",
)
