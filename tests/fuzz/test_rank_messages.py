"""A rank that is sent anything at all does its part or ends with a reason, in time. The bytes are
those of two real ranks, damaged, so that the test knows nothing of their format."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from byte_mutations import mutated_bytes
from campaign import Campaign, require_line_without_controls
from rank_processes import LIMIT_S, rank_environment
from source_tree import ROOT

MAX_PEAK_KIB = 1 << 20
ARRIVAL_S = 0.5  # in which a damaged rank must arrive; the real one does not come after it
PIECES = (b"\0" * 8, b"\xff" * 8, b"\x01" + b"\0" * 7, b"\0\0\0\x40" + b"\0" * 4, b"\x1b[2J\n")
Peer = tuple[bytes, bool]  # what a peer sends, and whether it then stays connected


class RankTarget:
    """Starts ranks, one after the other."""

    def __init__(self, plugin: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/support/rank_target.py"), str(plugin)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=rank_environment(CUDA_VISIBLE_DEVICES=""),
        )

    def start_rank_zero(self, limit_s: float = ARRIVAL_S) -> int:
        """Its port."""
        self._ask(f"0 {limit_s}")
        return int(self._line())

    def start_rank_one(self, port: int, limit_s: float = ARRIVAL_S) -> None:
        self._ask(f"1 {limit_s} {port}")

    def ended(self) -> dict[str, Any]:
        """How the rank ended."""
        found: dict[str, Any] = json.loads(self._line())
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        """The next line; raises an error if it does not come."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            assert ready.select(LIMIT_S), "the rank neither answers nor ends"
        line = self._process.stdout.readline()
        assert line, "the process that starts ranks has ended"
        return line


@pytest.fixture(scope="module")
def target(plugin: Path) -> Iterator[RankTarget]:
    one = RankTarget(plugin)
    yield one
    one.close()


@pytest.fixture(scope="module")
def other_target(plugin: Path) -> Iterator[RankTarget]:
    one = RankTarget(plugin)
    yield one
    one.close()


@pytest.fixture(scope="module")
def exchange(plugin: Path) -> tuple[bytes, bytes]:
    """What rank 1 and rank 0 send to one another, until both end."""
    zero, one = RankTarget(plugin), RankTarget(plugin)
    try:
        wire = Wire(zero.start_rank_zero(LIMIT_S))
        one.start_rank_one(wire.port, LIMIT_S)
        wire.pass_all()
        for rank in (zero, one):
            ended = rank.ended()
            assert ended["status"] == 0, ended
    finally:
        zero.close()
        one.close()
    assert all(wire.sent)
    return bytes(wire.sent[0]), bytes(wire.sent[1])


Damage = tuple[int, int, int, bytes]  # of what way, where, how many bytes go, what comes instead
QUIET_S = 0.5  # after damaged bytes, in which a rank that still waits for others gets none


class Wire:
    """Stands between rank 1 and rank 0: records what passes, and damages some of it."""

    def __init__(self, rank_zero_port: int, damages: Sequence[Damage] = ()) -> None:
        self._rank_zero_port, self._damages = rank_zero_port, damages
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.sent = (bytearray(), bytearray())  # by rank 1 and by rank 0, before the damage
        self.has_damaged = False

    def pass_all(self) -> None:
        """Returns when one of the ranks has closed its connection, or when both are silent after a
        damage."""
        self._listener.settimeout(LIMIT_S)
        address = ("127.0.0.1", self._rank_zero_port)
        with (
            contextlib.suppress(OSError),
            self._listener,
            self._listener.accept()[0] as follower,
            socket.create_connection(address, timeout=LIMIT_S) as rank_zero,
            selectors.DefaultSelector() as ready,
        ):
            ready.register(follower, selectors.EVENT_READ, (0, rank_zero))
            ready.register(rank_zero, selectors.EVENT_READ, (1, follower))
            while events := ready.select(QUIET_S if self.has_damaged else LIMIT_S):
                for key, _ in events:
                    way, sink = key.data
                    data = key.fileobj.recv(1 << 16)
                    if not data:
                        return
                    passed = self._damaged(way, data)
                    self.has_damaged = self.has_damaged or passed != data
                    sink.sendall(passed)

    def _damaged(self, way: int, data: bytes) -> bytes:
        begin = len(self.sent[way])
        self.sent[way].extend(data)
        changed = bytearray(data)
        for of, place, count, instead in sorted(self._damages, reverse=True):
            if of == way and begin <= place < begin + len(data):
                changed[place - begin : place - begin + count] = instead
        return bytes(changed)


def speak(connection: socket.socket, data: bytes, stays: bool) -> None:
    """Sends the bytes; then, if it stays, waits until the other side closes the connection."""
    connection.settimeout(LIMIT_S)
    with connection, contextlib.suppress(OSError):
        connection.sendall(data)
        if not stays:
            connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass


def check_end(target: RankTarget) -> int:
    """The exit status."""
    ended = target.ended()
    assert ended["status"] in (0, 2, 3), ended
    for line in ended["said"].splitlines():
        require_line_without_controls(line)
    assert ended["peak_kib"] <= MAX_PEAK_KIB, ended
    return int(ended["status"])


def damaged(recorded: bytes) -> st.SearchStrategy[Peer]:
    # A peer that stays costs the time limit of the rank, up to eleven seconds.
    stays = st.integers(0, 99).map(lambda number: number == 50)
    return st.tuples(mutated_bytes([recorded], PIECES), stays)


def test_what_rank_zero_is_sent(
    campaign: Campaign, target: RankTarget, exchange: tuple[bytes, bytes]
) -> None:
    def check(peer: Peer) -> None:
        port = target.start_rank_zero()
        speak(socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S), *peer)
        check_end(target)

    campaign.run(check, damaged(exchange[0]), count=8)


def test_what_a_follower_is_sent(
    campaign: Campaign, target: RankTarget, exchange: tuple[bytes, bytes]
) -> None:
    def check(peer: Peer) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(LIMIT_S)
            target.start_rank_one(listener.getsockname()[1])
            connection, _ = listener.accept()
            speak(connection, *peer)
        check_end(target)

    campaign.run(check, damaged(exchange[1]), count=6)


def test_a_connection_that_is_damaged(
    campaign: Campaign,
    target: RankTarget,
    other_target: RankTarget,
    exchange: tuple[bytes, bytes],
) -> None:
    """Two real ranks, which authenticate each other, and a few bytes that change on their way: one
    of the ranks sees it, or both."""

    def check(damages: list[Damage]) -> None:
        wire = Wire(target.start_rank_zero(), damages)
        other_target.start_rank_one(wire.port)
        wire.pass_all()
        statuses = check_end(target), check_end(other_target)
        assert any(statuses) or not wire.has_damaged

    instead = st.binary(max_size=12) | st.sampled_from(PIECES)
    damage = st.integers(0, 1).flatmap(
        lambda way: st.tuples(
            st.just(way), st.integers(0, len(exchange[way]) - 1), st.integers(0, 12), instead
        )
    )
    campaign.run(check, st.lists(damage, min_size=1, max_size=2), count=12)
