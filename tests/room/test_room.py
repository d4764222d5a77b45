"""A room: what students' notebooks send, what is counted and kept, what is refused, and the page."""

import asyncio
import http.client
import http.server
import json
import socket
import threading
import time

import pytest

pytest.importorskip("tornado")
from room_running import OWN, Running, answer
from tornado import httpclient

import autolab
from autolab import cli, inventory, progress
from autolab.progress import store
from autolab.room import server as serving
from autolab.room.questions import OTHER, Asked, course, declared
from autolab.room.tally import UNKNOWN, Tally

YOU = "f" * 16


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "mine" / "progress.jsonl"))
    yield
    autolab.room.leave()


@pytest.fixture
def room(tmp_path):
    running = Running(Tally(tmp_path / "room.jsonl", "4KD2", OWN))
    yield running
    running.stop()


def until(what, seconds=60):
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


# -- a notebook --------------------------------------------------------------------------------------------------------
def test_a_notebook_sends_what_was_answered_and_nothing_else(room):
    progress.record("ask", "my.0", given="before it joined")
    joined = autolab.room(room.address, "4kd2")
    progress.record(
        "prediction",
        "my.1",
        given="6",
        right=False,
        because="my name is Ada",
        choices=("6", "12"),
        confidence=2,
    )
    progress.record("exercise", "01.1", given="a program")
    progress.record("ask", "my.2", given=[1.0, 2.0], right=True)
    assert until(lambda: joined.sent == 2 and not joined.waiting), joined
    assert {id: list(q.given.values()) for id, q in room.tally.questions.items()} == {
        "my.1": ["6"],
        "my.2": ["[1.0, 2.0]"],
    }
    kept = room.tally.path.read_text()
    assert "Ada" not in kept and "program" not in kept and progress.learner() not in kept
    assert "sent     2" in repr(joined) and "In the room" in joined._repr_html_()
    assert "In no room" in repr(autolab.room.leave())
    progress.record("ask", "my.3", given="7")
    assert store.WATCHERS == [] and "my.3" not in room.tally.questions


def test_joining_again_counts_nobody_twice(room):
    for given in ("6", "8"):
        joined = autolab.room(room.address, "4KD2")
        progress.record("ask", "my.1", given=given, right=False)
        assert until(lambda one=joined: one.sent == 1)
    assert len(room.tally.students) == 1 and list(room.tally.questions["my.1"].given.values()) == [
        "6"
    ]


def test_a_room_that_is_not_there_disturbs_nothing(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    joined = autolab.room(f"127.0.0.1:{port}", "4KD2")
    event = progress.record("ask", "my.1", given="6", right=False)
    assert event.given == "6" and joined.waiting == 1 and "not reached" in repr(joined)
    assert capsys.readouterr() == ("", "")
    assert autolab.room() is joined


@pytest.mark.parametrize("status", [200, 403])
def test_what_answers_is_no_room(status):
    """A wireless network's page to log in, or a JupyterLab: neither takes answers nor refuses a code."""

    class Portal(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<h1>Log in</h1>")

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Portal) as other:
        threading.Thread(target=other.serve_forever).start()
        joined = autolab.room(f"127.0.0.1:{other.server_port}", "4KD2")
        progress.record("ask", "my.1", given="6")
        assert (joined.sent, joined.waiting) == (0, 1) and "is not a room (" in repr(joined)
        autolab.room.leave()
        other.shutdown()


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("ftp://here", "4KD2", "address should be"),
        ("http://here:99999", "4KD2", "address should be"),
        ("http://here/page", "4KD2", "address should be"),
        ("http://here:1", "4K", "code should be"),
        ("http://here:1", 4, "code should be"),
    ],
)
def test_what_is_no_address_or_code(address, code, said):
    with pytest.raises(ValueError, match=said) as caught:
        autolab.room(address, code)
    assert caught.value.__notes__


def test_a_wrong_code_is_told(room):
    with pytest.raises(ValueError, match="this is not the room's code"):
        autolab.room(room.address, "AAAA")
    assert store.WATCHERS == [] and not room.tally.students


# -- the page ----------------------------------------------------------------------------------------------------------
def test_answers_are_hidden_until_released(room):
    for who, given in (("0" * 16, "6"), (YOU, "6.0"), ("a" * 16, "12")):
        assert room.says("answer", who, **answer(given=given))[0] == 200
    assert room.says("answer", **answer(given="12"))[0] == 200  # a second answer does not count
    (hidden,) = room.state()["questions"]
    assert hidden == {
        "id": "my.1",
        "ask": "",
        "answers": [3],
        "released": False,
        "last": False,
        "bars": [],
    }
    assert room.ask("/release", {"id": "my.1", "shown": True})[0] == 403
    assert room.release("my.1")[0] == 200 and room.release("not there")[0] == 400
    bars = [
        {"text": "6", "counts": [2], "right": False},
        {"text": "12", "counts": [1], "right": True},
    ]
    assert room.state()["questions"][0]["bars"] == bars
    assert "code" not in room.state()
    assert (
        json.loads(room.ask("/state", headers={"X-Room-Key": room.tally.key})[1])["code"] == "4KD2"
    )
    room.release("my.1", False)
    assert room.state()["questions"][0]["bars"] == []


def test_the_courses_questions_are_told_in_full(room):
    from autolab.lessons import book

    id, asked = next((i, q) for i, q in book.lesson("01").QUESTIONS.items() if q.choices)
    room.says("answer", **answer(id, asked.choices[1]))
    room.release(id)
    (shown,) = room.state()["questions"]
    assert shown["ask"] == asked.ask and [bar["text"] for bar in shown["bars"]] == list(
        asked.choices
    )


def test_what_nobody_asked_is_counted_and_not_shown(tmp_path):
    tally = Tally(tmp_path / "room.jsonl", "4KD2")
    in_an_explorer, predicted = "01.a1", "01.q1"
    for id in ("Kim is late", "my.1", in_an_explorer, predicted, "01.q999"):
        tally.answer(YOU, answer(id))
    tally.answer("0" * 16, answer("my.1"))
    assert (
        [q["id"] for q in tally.state["questions"]]
        == [q["id"] for q in tally.asked("")["questions"]]
        == [predicted, in_an_explorer]
    )
    assert tally.state["unknown"] == {"questions": 3, "answers": 4} and "Kim" not in json.dumps(
        tally.state
    )
    for refused in (lambda: tally.release("Kim is late", True), lambda: tally.again("Kim is late")):
        with pytest.raises(ValueError, match="id should name"):
            refused()
    for n in range(UNKNOWN - 3):
        tally.answer(YOU, answer(f"made up {n}"))
    with pytest.raises(OverflowError, match="300 questions that it does not know"):
        tally.answer(YOU, answer("one more"))
    tally.answer(YOU, answer("01.q2"))  # those of the course find their place
    tally.close()
    again = Tally(
        tally.path, own=OWN[:1]
    )  # an instructor who names the notebook later finds all answers
    assert again.state["questions"][-1]["id"] == "my.1" and again.state["questions"][-1][
        "answers"
    ] == [2]
    again.close()


def test_the_instructors_questions_are_those_of_named_notebooks(tmp_path, capsys):
    cells = [
        ("code", ["%matplotlib inline\n", 'q = Prediction("What?", ["6", "12"], id="my.1")\n']),
        ("markdown", 'id="text"'),
    ]
    cells.append(("code", "explorer.ask('w', 'grad', id = 'my.2'); identity = 'id'"))
    notebook = {"cells": [{"cell_type": kind, "source": source} for kind, source in cells]}
    (tmp_path / "own.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    told = {"my.1": Asked("my.1", choices=("6", "12")), "my.2": Asked("my.2", kind="grad")}
    assert declared(tmp_path) == declared(tmp_path / "own.ipynb") == told
    (tmp_path / "own.py").write_text('ask("w", "grad", id="my.3")', encoding="utf-8")
    assert declared(tmp_path / "own.py") == {"my.3": Asked("my.3", kind="grad")}
    (tmp_path / "bad.ipynb").write_text("[]", encoding="utf-8")
    (tmp_path / "none").mkdir()
    wrong = {
        "gone": "gone cannot be read: No such file",
        "none": "none should have questions with names",
        "bad.ipynb": "is not a notebook",
    }
    for path, said in wrong.items():
        assert (
            cli.main(
                [
                    "room",
                    "serve",
                    "--port",
                    "0",
                    "--file",
                    str(tmp_path / "r"),
                    "--questions",
                    str(tmp_path / path),
                ]
            )
            == 1
        )
        assert said in capsys.readouterr().err and not (tmp_path / "r").exists()


def test_it_survives_a_restart_and_a_line_that_broke_off(room, tmp_path):
    room.says("answer", **answer())
    room.says("answer", YOU, **answer(given="12"))
    room.release("my.1")
    copy = tmp_path / "copy.jsonl"
    copy.write_text(room.tally.path.read_text() + '{"what": "answer", "wh')
    again = Tally(copy, own=OWN)
    assert again.state == room.tally.state and (again.code, again.key) == (
        room.tally.code,
        room.tally.key,
    )
    again.answer("a" * 16, answer(given="13"))
    again.close()
    third = Tally(copy, own=OWN)
    assert third.state["questions"][0]["answers"] == [3]
    third.close()
    with pytest.raises(ValueError, match="a room with the code 4KD2"):
        Tally(copy, "AAAA")
    with pytest.raises(ValueError, match="--code should be"):
        Tally(tmp_path / "new.jsonl", "ä")


def test_the_inventorys_gains(room):
    for when, choose in (
        ("before", lambda form: form.beliefs[0]),
        ("after", lambda form: form.key),
    ):
        sitting = inventory.sitting(when)
        for item in inventory.ITEMS:
            sitting = sitting.answer(item, choose(sitting.form(item)))
        if when == "after":
            joined = autolab.room(room.address, "4KD2")
            with pytest.raises(RuntimeError, match="'after' is not handed in"):
                autolab.room.hand_in()
        sitting.end()
    autolab.room.hand_in()
    assert until(lambda: joined.sent == 1), joined
    assert room.state()["inventory"] == {"students": 1, "released": False, "rows": []}
    room.release("inventory")
    assert room.state()["inventory"]["rows"][-1]["gain"] == "1.00"
    again = Tally(room.tally.path, own=OWN)
    assert again.state == room.tally.state
    again.close()
    none = {"letter": "B", "answers": {}}
    for before in (
        {"letter": "A", "answers": {"1": "no choice"}},
        {"letter": ["A"], "answers": {}},
    ):
        assert room.says("inventory", before=before, after=none)[0] == 400


def test_a_second_vote_is_counted_beside_the_first(room):
    for who, given in (("0" * 16, "6"), (YOU, "6"), ("a" * 16, "12")):
        room.says("answer", who, **answer(given=given))
    room.release("my.1")
    key = {"X-Room-Key": room.tally.key}
    assert (
        room.ask("/again", {"id": "my.1"})[0] == 403
        and room.ask("/again", {"id": "other"}, key)[0] == 400
    )
    assert room.ask("/again", {"id": "my.1"}, key)[0] == 200
    (hidden,) = room.state()["questions"]
    assert (hidden["answers"], hidden["released"], hidden["last"], hidden["bars"]) == (
        [3, 0],
        False,
        True,
        [],
    )
    for given in ("12", "6"):  # the first of the second vote counts
        room.says("answer", **answer(given=given))
    room.says("answer", YOU, **answer(given="6"))
    assert json.loads(room.ask("/question?id=my.1")[1])["round"] == 2
    room.release("my.1")
    bars = [
        {"text": "6", "counts": [2, 1], "right": False},
        {"text": "12", "counts": [1, 1], "right": True},
    ]
    assert room.state()["questions"][0]["bars"] == bars
    assert room.ask("/again", {"id": "my.1"}, key)[0] == 409
    again = Tally(room.tally.path, own=OWN)
    assert again.state == room.tally.state
    again.close()


# -- phones ------------------------------------------------------------------------------------------------------------
def test_what_a_phone_is_told(room):
    from autolab.lessons import book

    id, asked = next((i, q) for i, q in book.lesson("01").QUESTIONS.items() if q.choices)
    told = json.loads(room.ask(f"/question?id={id}")[1])
    assert told == {"id": id, "ask": asked.ask, "choices": list(asked.choices), "round": 1}
    assert (
        json.loads(room.ask("/question?id=%3Cb%3E")[1])["choices"] == []
        and not room.tally.questions
    )
    room.says("answer", **answer("my.1"))
    room.says("answer", **answer("my.2"))
    room.release("my.1")
    assert json.loads(room.ask("/question")[1]) == {"questions": [{"id": "my.2", "ask": ""}]}
    assert room.ask("/question", headers={"Host": "evil.example"})[0] == 403
    assert room.ask("/code")[0] == 403 and "4KD2" not in room.ask("/phone")[1]


def test_the_address_of_a_question():
    from autolab.room import phone

    here = "http://192.168.1.5:8765"
    assert (
        phone.address(here) == f"{here}/phone"
        and phone.address(here, "4kd2") == f"{here}/phone#4KD2"
    )
    assert phone.address(here, "4KD2", "my.1", ("6", "a/b")) == f"{here}/phone#4KD2/my.1/6/a%2Fb"
    assert phone.address(here, "", "my.1", ("6" * 300,)) == f"{here}/phone#/my.1"
    assert (
        phone.address(here, "4KD2", "01.q1", ("6",)) == f"{here}/phone#4KD2/01.q1"
    )  # the room knows its choices
    with pytest.raises(ValueError, match="address should be"):
        phone.address("ftp://here")


def test_a_code_is_one():
    pytest.importorskip("segno")
    from autolab.room import phone

    side, path = phone.squares("http://192.168.1.5:8765/phone#4KD2/01.q1")
    corner = [(0, 0), (6, 0), (0, 6), (6, 6)]  # of the finder pattern
    assert side == 37 and all(
        f"M{x + phone.QUIET} {y + phone.QUIET}h1v1h-1z" in path for x, y in corner
    )
    assert "&lt;" in phone.figure("http://a/phone#<") and "<b" not in phone.figure("http://a/<b>")


# -- what is refused ---------------------------------------------------------------------------------------------------
def test_foreign_requests_are_refused(room):
    assert (
        room.ask("/state", headers={"Host": "evil.example"})[0] == 403
    )  # a name elsewhere that leads here
    assert room.ask("/state", headers={"Host": "localhost:1"})[0] == 200
    said = {"code": "4KD2", "who": "0" * 16, **answer()}
    assert room.ask("/answer", said, {"Origin": "http://evil.example"})[0] == 403
    assert room.ask("/answer", said, {"Origin": "null"})[0] == 403
    assert (
        room.ask("/answer", said, {"Content-Type": "text/plain"})[0] == 415
    )  # what a form of another page could send
    assert room.ask("/answer", said, {"Origin": room.address})[0] == 200
    assert room.ask("/etc/passwd")[0] == room.ask("/../room.jsonl")[0] == 404
    line = http.client.HTTPConnection("127.0.0.1", room.port, timeout=30)
    line.request("GET", "/")
    reply = line.getresponse()
    assert (
        "default-src 'none'" in reply.headers["Content-Security-Policy"]
        and reply.headers["Server"] is None
    )
    line.close()


@pytest.mark.parametrize(
    "said",
    [
        {"id": "<b>"}, {"id": "a" * 61}, {"id": 4}, {"id": " "}, {"id": "inventory"},
        {"given": 6}, {"given": "6" * 201}, {"given": "\ud800"}, {"who": "Ada"}, {"who": 7}, {"who": None},
    ],
)  # fmt: skip
def test_what_is_no_answer(room, said):
    status, why = room.ask("/answer", {"code": "4KD2", "who": "0" * 16, **answer(), **said})
    assert status == 400 and why and room.state()["questions"] == []


def test_floods_are_refused(tmp_path):
    now = [0.0]
    running = Running(Tally(tmp_path / "room.jsonl", "4KD2"), limits=serving.Limits(lambda: now[0]))
    try:
        running.says("join")
        taken = [running.says("answer", **answer(f"my.{n}"))[0] for n in range(40)]
        assert taken == [200] * 30 + [429] * 10
        assert running.says("join", YOU)[0] == 200  # nobody else is held up
        now[0] += 1.5
        assert [running.says("answer", **answer("later"))[0] for _ in range(2)] == [200, 429]
    finally:
        running.stop()


def test_connections_that_are_held_open_lock_nobody_out(tmp_path):
    room = Running(Tally(tmp_path / "room.jsonl", "4KD2"), most=4)
    try:
        held = [socket.create_connection(("127.0.0.1", room.port), timeout=30) for _ in range(3)]
        assert held[2].recv(1) == b""  # half of all are one address's
        held[0].sendall(b"GET / HTTP/1.1\r\n")
        for one in held:
            one.close()
        assert until(lambda: room.server.held["127.0.0.1"] == 0)
        assert room.ask("/state")[0] == 200
    finally:
        room.stop()


def test_a_file_holds_so_much_and_no_others_text(tmp_path, monkeypatch):
    tally = Tally(tmp_path / "room.jsonl", "4KD2", OWN)
    tally.answer(YOU, answer())
    monkeypatch.setattr("autolab.room.tally.LARGEST", 100)
    with pytest.raises(OverflowError, match="the room is full: 0 MB"):
        tally.join("a" * 16)
    tally.release("my.1", True)
    tally.close()
    diary = tmp_path / "diary.txt"
    diary.write_text("Monday\n")
    with pytest.raises(ValueError, match="is not of a room"):
        Tally(diary)
    assert diary.read_text() == "Monday\n"


def test_300_students_answer_at_once(room):
    """Each student joins and answers on separate connections, as notebooks do; they may take ten
    seconds."""
    head = {"Content-Type": "application/json"}

    async def student(client, n):
        said = {"code": "4KD2", "who": f"{n:016x}"}
        for kind, more in (("join", {}), ("answer", answer(given=str(n % 4)))):
            body = json.dumps(said | more)
            await client.fetch(
                f"{room.address}/{kind}",
                method="POST",
                headers=head,
                body=body,
                request_timeout=100,
                connect_timeout=100,
            )

    async def everybody():
        client = httpclient.AsyncHTTPClient(force_instance=True, max_clients=300)
        await asyncio.gather(*(student(client, n) for n in range(300)))
        client.close()

    asyncio.run(everybody())
    room.release("my.1")
    assert [bar["counts"] for bar in room.state()["questions"][0]["bars"]] == [[75]] * 4
    assert len(room.tally.path.read_text().splitlines()) == 1 + 300 + 300 + 1


# -- one student against all -------------------------------------------------------------------------------------------
def multiple_choice():
    """A question of the course with choices, and one that is answered by a number."""
    asked = [one for one in course().values() if one.key]
    return next(one for one in asked if len(one.choices) > 2), next(
        one for one in asked if one.kind == "number"
    )


def test_the_room_knows_what_is_right_and_no_student_tells_it(room):
    choice, number = multiple_choice()
    wrong = next(one for one in choice.choices if one != choice.key)
    for n, given in enumerate([wrong, "you all are fools", "✓ right", choice.key]):
        said = {**answer(choice.id, given), "right": True, "choices": ["you all are fools"]}
        assert room.says("answer", f"{n:016x}", **said)[0] == 200
    for n, given in enumerate([number.key, f" {float(number.key)} ", "fools", "7", "2*3*4"]):
        said = {**answer(number.id, given), "right": n == 2, "choices": ["fools"]}
        assert room.says("answer", f"{n:016x}", **said)[0] == 200
    told = json.loads(room.ask(f"/question?id={choice.id}")[1])
    assert told["choices"] == list(choice.choices)
    for id in (choice.id, number.id):
        room.release(id)
    numbers, choices = (one["bars"] for one in room.state()["questions"])
    counted = {bar["text"]: bar["counts"][0] for bar in choices}
    assert counted == dict.fromkeys(choice.choices, 0) | {wrong: 1, choice.key: 1, OTHER: 2}
    assert {bar["text"]: bar["counts"][0] for bar in numbers} == {
        bar["text"]: n for bar, n in zip(numbers, (2, 1, 1, 1))
    } and {OTHER, "7", "2*3*4"} < {bar["text"] for bar in numbers}
    assert [bar["counts"] for bar in numbers if bar["right"]] == [[2]]
    assert [bar["text"] for bar in choices if bar["right"]] == [choice.key]
    assert "fools" not in json.dumps(room.state())


def test_every_prediction_of_the_course_has_a_right_answer():
    """For the others, which explorers ask, the room says nothing about what is right."""
    predictions = [one for one in course().values() if ".q" in one.id]
    assert len(predictions) > 100
    assert [one.id for one in predictions if one.choices and one.key not in one.choices] == []
    assert [one.id for one in predictions if not one.right(one.counted(one.key))] == []
    assert all(
        one.kind in ("grad", "state", "value", "shape")
        for one in course().values()
        if ".a" in one.id
    )


def test_the_instructors_own_answers_are_in_the_notebook(tmp_path):
    told = "<details><strong>It is: <code style='x'>w.grad</code> &lt; 3</strong></details>"
    cells = [
        ("guess = Prediction('How?', ['`w.grad` < 3', 'no'], 'choice', {}, 'my.1')", ""),
        ("other = Prediction('How?', choices=[6, 12], id='my.2')\nother", ""),
        ("w = 1\nother.reveal(w)", "<strong>It is: 12</strong>"),
        ("third = Prediction(text, offered, id='my.3')", ""),
        ("third.reveal(5)", "Your prediction first"),
        ("fourth = Prediction('?', ['`w.grad` < 3'], id='my.4')", ""),
        ("fourth.reveal(w)", told),
        ("explorer.ask('w', kind='state', id='my.5')", ""),
        ("!ls\nbroken(id='my.6'", ""),
    ]
    notebook = {
        "cells": [
            {"cell_type": "code", "source": s, "outputs": [{"data": {"text/html": html}}]}
            for s, html in cells
        ]
    }
    (tmp_path / "own.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    assert declared(tmp_path) == {
        "my.2": Asked("my.2", choices=("6", "12"), key="12"),
        "my.3": Asked("my.3"),
        "my.4": Asked("my.4", choices=("`w.grad` < 3",), key="`w.grad` < 3"),
        "my.5": Asked("my.5", kind="state"),
        "my.6": Asked("my.6"),
    }
    tally = Tally(tmp_path / "room.jsonl", own=declared(tmp_path).values())
    for n, given in enumerate(["12.0", "12", "6", "an insult"]):
        tally.answer(f"{n:016x}", answer("my.2", given))
    for n, given in enumerate(["an insult", "would be freed"]):
        tally.answer(f"{n:016x}", answer("my.5", given))
    tally.release("my.2", True)
    assert [(b["text"], b["counts"], b["right"]) for b in tally.state["questions"][1]["bars"]] == [
        ("6", [1], False),
        ("12", [2], True),
        (OTHER, [1], False),
    ]
    assert list(tally.questions["my.5"].given.values()) == [OTHER, "would be freed"]
    tally.close()


def test_one_address_has_room_for_a_hall_and_for_no_more(tmp_path):
    now = [0.0]
    limits = serving.Limits(lambda: now[0])
    room = Running(Tally(tmp_path / "room.jsonl", "4KD2", OWN), limits=limits)
    try:
        assert {room.ask("/join", {"code": f"AA{n:02}", "who": YOU})[0] for n in range(60)} == {403}
        assert room.says("join")[0] == 200, "wrong codes lock out nobody who has the right one"
        came = [room.says("answer", f"{n:016x}", **answer())[0] for n in range(1, 420)]
        assert came == [200] * 399 + [429] * 20
        assert room.says("answer", **answer())[0] == 200, "who is in stays in"
        now[0] += 2
        assert [room.says("join", f"{n:016x}")[0] for n in range(500, 503)] == [200, 200, 429]
    finally:
        room.stop()
    assert limits.may_enter("192.168.1.7") and limits.may_enter("fe80::1%eth0")
    while limits.may_enter(f"2001:db8::{int(now[0]):x}"):  # one machine has many such addresses
        now[0] += 1
    assert 1000 <= now[0] < 1010 and limits.may_enter("2001:db8:0:1::1")


# -- the command -------------------------------------------------------------------------------------------------------
def test_a_taken_port_gets_a_sentence(tmp_path, capsys):
    from autolab import cli

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert (
            cli.main(
                [
                    "room",
                    "serve",
                    "--interface",
                    "127.0.0.1",
                    "--port",
                    str(port),
                    "--file",
                    str(tmp_path / "r"),
                ]
            )
            == 1
        )
    assert (
        f"port {port} cannot be used" in capsys.readouterr().err and not (tmp_path / "r").exists()
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "99999"], "--port should be a number"),
        (["--port", "0", "--file", "."], "--file . cannot be used"),
        (["--port", "0", "--code", "a"], "--code should be 4 to 12"),
    ],
)
def test_options_that_are_none(options, said, tmp_path, monkeypatch, capsys):
    from autolab import cli

    monkeypatch.chdir(tmp_path)
    assert cli.main(["room", "serve", "--interface", "127.0.0.1", *options]) == 1
    assert said in capsys.readouterr().err and list(tmp_path.iterdir()) == []
