"""What passes beside calls and their replies reaches the record too."""

from relay.stage import MODERN, RememberingSink

from callgate.model.events import ExchangeOpened
from callgate.model.exchange import Arrival, Exchange, Hop, Outcome
from callgate.model.identity import LOCAL
from callgate.model.reply import Answer, Asking, Notice, Withdrawn
from callgate.model.session import Session
from callgate.relay.side_messages import SideMessages

SESSION = Session("s-1", LOCAL, "http", MODERN, 1.0, 1.0)
CALL = Arrival("tools/call", b"7", b"{}", MODERN, LOCAL, "http", "new/1")


def a_call() -> Exchange:
    return Exchange("e-1", CALL, SESSION, 1.0, 1.0, hops=[Hop("mail", "tools/call", b"{}", 1.0)])


def test_a_notification_of_a_server_is_told_and_passed_on_as_it_is() -> None:
    sink = RememberingSink()
    notice = Notice("notifications/progress", b'{"progress":1}')
    assert SideMessages(sink).pass_on(notice, a_call()) is notice
    (told,) = sink.all_settled
    assert (told.sender, told.server_name, told.arrival.method) == ("server", "mail", notice.method)
    assert (told.arrival.params, told.session) == (notice.params, SESSION)


def test_a_notification_of_a_client_is_told_with_everyone_it_went_to() -> None:
    sink = RememberingSink()
    arrival = Arrival("notifications/roots/list_changed", None, b"", MODERN, LOCAL, "http", "new/1")
    SideMessages(sink).notified(arrival, SESSION, ["mail", "db"])
    (told,) = sink.settled
    assert told.server_name == "aggregate"
    assert [hop.upstream for hop in told.hops] == ["mail", "db"]


def test_a_question_is_open_until_the_client_answers_and_the_server_hears_the_answer() -> None:
    sink, heard = RememberingSink(), list[Answer]()
    asked = SideMessages(sink).pass_on(Asking("sampling/createMessage", b'{"a":1}', heard.append), a_call())
    assert isinstance(asked, Asking)
    assert [type(event) for event in sink.events] == [ExchangeOpened]
    asked.respond(Answer(result=b'{"ok":true}'))
    (told,) = sink.all_settled
    assert told.settlement is not None
    assert (told.settlement.outcome, told.settlement.reply) == (Outcome.ANSWERED, b'{"ok":true}')
    assert heard == [Answer(result=b'{"ok":true}')]


def test_a_question_that_is_taken_back_is_settled_once_and_names_the_one_the_client_knows() -> None:
    sink, heard = RememberingSink(), list[Answer]()
    side_messages, question = SideMessages(sink), Asking("roots/list", b"", heard.append)
    call = a_call()
    asked = side_messages.pass_on(question, call)
    assert isinstance(asked, Asking)
    assert side_messages.pass_on(Withdrawn(question), call) == Withdrawn(asked)
    asked.respond(Answer(result=b"{}"))
    side_messages.forget(call)
    (told,) = sink.all_settled
    assert told.settlement is not None
    assert told.settlement.outcome is Outcome.CANCELLED


def test_a_question_that_its_call_left_behind_is_settled_with_the_call() -> None:
    sink = RememberingSink()
    side_messages, call = SideMessages(sink), a_call()
    side_messages.pass_on(Asking("roots/list", b"", lambda answer: None), call)
    side_messages.forget(call)
    side_messages.forget(call)
    assert len(sink.all_settled) == 1
