"""A closed loop of clients: each sends its next group when the last one is scored.

What is measured at the server is the processor time of its whole process tree, which other work on the machine disturbs
least; the time of a group as its client sees it; and whether anything but 200 came back.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil

Group = tuple[str, list[str]]
Form = Callable[[Group], list[bytes]]
"""A group as the bodies of requests that are sent at once."""


@dataclass
class Load:
    """What a load did. seconds: of the whole load. cpu: processor seconds of the server. groups: seconds of each."""

    sequences: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    groups: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    answers: dict[int, list[Any]] = field(default_factory=dict)

    @property
    def cpu_of_1000(self) -> float:
        return 1000 * self.cpu / max(1, self.sequences)

    def quantile(self, q: float) -> float:
        ordered = sorted(self.groups)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")


def one_query(group: Group) -> list[bytes]:
    """As OpenRLHF sends them: a request for each response."""
    prompt, responses = group
    return [
        json.dumps({"query": [f"{prompt} {each}"], "prompts": [prompt], "labels": [None]}).encode()
        for each in responses
    ]


def one_group(group: Group) -> list[bytes]:
    """A request for the whole group."""
    prompt, responses = group
    n = len(responses)
    body = {"query": [f"{prompt} {each}" for each in responses], "prompts": [prompt] * n, "labels": [None] * n}
    return [json.dumps(body).encode()]


def rerank(group: Group) -> list[bytes]:
    """The nearest thing that infinity takes; its model reads the pair."""
    prompt, responses = group
    return [json.dumps({"query": prompt, "documents": responses, "raw_scores": True, "model": "m"}).encode()]


class Connections:
    """Kept-alive connections to one server, so that the client costs little."""

    def __init__(self, port: int, path: str) -> None:
        self._port, self._path = port, path
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, body: bytes) -> tuple[int, bytes]:
        head = f"POST {self._path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        return await self._send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    async def get(self) -> tuple[int, bytes]:
        return await self._send(f"GET {self._path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    async def _send(self, message: bytes) -> tuple[int, bytes]:
        while self._free:
            reader, writer = self._free.pop()
            try:
                return await self._answer(reader, writer, message)
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                if getattr(error, "partial", b""):
                    raise
                continue  # the server had closed an idle connection
        return await self._answer(*await asyncio.open_connection("127.0.0.1", self._port), message)

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes
    ) -> tuple[int, bytes]:
        writer.write(message)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        if "chunked" in fields.get("transfer-encoding", ""):
            answer = b""
            while size := int((await reader.readline()).strip(), 16):
                answer += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        else:
            answer = await reader.readexactly(int(fields["content-length"]))
        self._free.append((reader, writer))
        return int(lines[0].split()[1]), answer

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()


def run(port: int, path: str, form: Form, groups: Sequence[Group], *, clients: int, pid: int) -> Load:
    """Send all groups, ``clients`` at a time."""
    load = Load(sequences=sum(len(responses) for _, responses in groups))
    before, start = _cpu(pid), time.perf_counter()
    asyncio.run(_all(Connections(port, path), form, groups, clients, load))
    load.seconds, load.cpu = time.perf_counter() - start, _cpu(pid) - before
    return load


async def _all(connections: Connections, form: Form, groups: Sequence[Group], clients: int, load: Load) -> None:
    waiting = iter(enumerate(groups))

    async def client() -> None:
        for index, group in waiting:
            start = time.perf_counter()
            answers = await asyncio.gather(*(connections.post(body) for body in form(group)))
            load.groups.append(time.perf_counter() - start)
            load.errors += [f"{status}: {answer[:200]!r}" for status, answer in answers if status != 200]
            load.answers[index] = [json.loads(answer) for status, answer in answers if status == 200]

    await asyncio.gather(*(client() for _ in range(clients)))
    connections.close()


def _cpu(pid: int) -> float:
    """Processor seconds of a process and all its children. Ray keeps its workers elsewhere: they are found by name."""
    processes = {pid: psutil.Process(pid)}
    processes |= {child.pid: child for child in processes[pid].children(recursive=True)}
    total = 0.0
    for process in processes.values():
        try:
            times = process.cpu_times()
            total += times.user + times.system
        except psutil.Error:
            continue
    return total
