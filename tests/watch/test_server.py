"""The server behind ``quell watch --browser``: for this machine only, and only to read."""

import http.client
import json

import pytest
from helpers.watching import problem

import quell
from quell.errors import JournalError
from quell.watch.following import Follower
from quell.watch.server import MOST_LISTENERS, serving


@pytest.fixture
def server(stopped):
    follower = Follower(stopped)
    follower.look()
    with serving(follower, every=0.05) as server:
        yield server


@pytest.fixture
def ask(server):
    """Ask the server for something; everything is closed after the test."""
    connections = []

    def request(path=None, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        path = f"/{server.word}/" if path is None else path
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        connections.extend([answer, connection])
        return answer

    yield request
    for connection in connections:
        connection.close()


def test_the_page(ask):
    answer = ask()
    assert answer.status == 200
    page = answer.read().decode()
    assert page.startswith("<!doctype html>")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert ask(method="HEAD").read() == b""
    assert answer.headers["Cache-Control"] == "no-store"


def test_it_listens_on_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address.startswith(f"http://127.0.0.1:{server.server_port}/")
    assert len(server.word) > 20


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "", "0.0.0.0"])
def test_other_hosts_are_refused(ask, host):
    answer = ask(Host=host)
    assert answer.status == 403
    assert b"doctype" not in answer.read()


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"]
)
@pytest.mark.parametrize("name", ["", "events", "state.json"])
def test_other_origins_are_refused(server, ask, origin, name):
    assert ask(f"/{server.word}/{name}", Origin=origin).status == 403


def test_its_own_origin_and_tunnels_are_not(server, ask):
    own = f"127.0.0.1:{server.server_port}"
    assert ask(Origin=f"http://{own}").status == 200
    assert ask(Host="localhost:9999", Origin="http://localhost:9999").status == 200


@pytest.mark.parametrize(
    "path", ["/", "/state.json", "/events", "/x/", "/../../etc/passwd", "/" + "a" * 5000]
)
def test_nothing_is_told_without_the_word(ask, path):
    assert ask(path).status == 404


def test_other_paths_and_methods(server, ask):
    assert ask(f"/{server.word}/../page.js").status == 404
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(method=method).status == 501


def test_state_and_events(server, ask, stopped):
    state = json.loads(ask(f"/{server.word}/state.json").read())
    assert state["evaluations"] == 3
    answer = ask(f"/{server.word}/events")
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    first = message(answer)
    assert (first["from"], len(first["new"])) == (0, 3)
    with quell.Sampler(problem(), seed=1, journal=stopped) as sampler:
        seen = message(answer)
        while seen["state"]["status"] != "running":
            seen = message(answer)
        sampler.tell(sampler.ask(1), [-4.0])
        while not seen["new"]:
            seen = message(answer)
    assert (seen["from"], [row[0] for row in seen["new"]]) == (3, [-4.0])


def message(answer):
    line = b""
    while not line.startswith(b"data: "):
        line = answer.readline()
    return json.loads(line.removeprefix(b"data: "))


def test_not_everybody_may_listen_at_once(server, ask):
    path = f"/{server.word}/events"
    open_ones = [ask(path) for _ in range(MOST_LISTENERS)]
    assert {answer.status for answer in open_ones} == {200}
    assert ask(path).status == 503
    assert ask().status == 200


def test_a_port_that_is_taken_is_one_sentence(server, stopped):
    follower = Follower(stopped)
    follower.look()
    with pytest.raises(JournalError, match="cannot serve at port"):
        serving(follower, port=server.server_port).__enter__()
