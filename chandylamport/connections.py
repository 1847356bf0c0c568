"""Connections between processes: frames of JSON, and a handshake that lets nobody else in.

Nothing here knows what the frames say, or why they are sent.
"""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from secrets import compare_digest
from socket import SO_RCVBUF, SO_SNDBUF, SOL_SOCKET, create_server
from socket import socket as Socket
from time import monotonic
from typing import Any

from .encoding import decode, encode

Admit = Callable[[str, StreamReader, StreamWriter], Awaitable[None]]
Address = tuple[str, int]
IsCurrent = Callable[[int], bool]  # whether an incarnation is the one that runs
Say = Callable[[str], object]
HOST = "127.0.0.1"
LARGEST = 2**20  # bytes of a frame
ROOM = 2**14  # bytes for each of a channel's buffers: when they are full, its sender has to wait
PATIENCE = 3.0  # seconds for a handshake
TICK = 0.005  # seconds between two looks at the clock


def send(writer: StreamWriter, value: object) -> None:
    """Put a frame into a connection; one that is closed loses it."""
    data = json.dumps(encode(value)).encode()
    if len(data) > LARGEST:
        raise ValueError(f"a frame of {len(data)} bytes; send less at a time, up to {LARGEST}")
    if not writer.is_closing():
        writer.write(len(data).to_bytes(4, "big") + data)


async def receive(reader: StreamReader) -> Any:
    """Take a frame from a connection; one that is too large is refused before it takes room."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    if size > LARGEST:
        raise ValueError(f"it announces a frame of {size} bytes, and {LARGEST} are allowed")
    data = await reader.readexactly(size)
    try:
        return decode(json.loads(data.decode()))
    except (ValueError, TypeError, RecursionError) as error:  # whose words may tell the content
        raise ValueError(f"its frame is malformed ({type(error).__name__})") from None


@dataclass(frozen=True)
class Pass:
    """What opens a connection: who comes, of which incarnation, and the secret of the run."""

    name: str
    incarnation: int
    secret: str = field(repr=False)
    host: str = HOST  # on which it listens

    async def connect(self, to: Address, patience: float = 0) -> tuple[StreamReader, StreamWriter]:
        """Open a connection, and wait until it is accepted; knock again as long as it may come."""
        end = monotonic() + patience
        while True:
            try:
                reader, writer = await asyncio.open_connection(*to)
                writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_SNDBUF, ROOM)
                send(writer, (self.secret, self.incarnation, self.name))
                try:
                    await receive(reader)
                except BaseException:
                    writer.close()
                    raise
                return reader, writer
            except (EOFError, ConnectionError):
                if monotonic() > end:
                    raise
                await asyncio.sleep(10 * TICK)

    def door(self) -> Socket:
        """Give a socket that listens; who knocks waits until somebody attends to it."""
        opened = create_server((self.host, 0))
        opened.setsockopt(SOL_SOCKET, SO_RCVBUF, ROOM)
        return opened

    def check(self, hello: object, awaited: Iterable[str], is_current: IsCurrent) -> str:
        """Give the name of who has come, or refuse him."""
        match hello:
            case (str(secret), int(incarnation), str(name)):
                if not compare_digest(secret.encode(), self.secret.encode()):
                    raise ValueError("it does not know the secret")
                if is_current(incarnation) and name in awaited:
                    return name
                raise ValueError(f"{name!r} of incarnation {incarnation} is here, or not awaited")
        raise ValueError("its first frame is no handshake")

    async def listen(
        self, door: Socket, awaited: set[str], is_current: IsCurrent, admit: Admit, say: Say
    ) -> asyncio.Server:
        """Admit those who are awaited, each once; say who is refused, and why."""

        async def knock(reader: StreamReader, writer: StreamWriter) -> None:
            why, hello = "", asyncio.create_task(receive(reader))
            try:
                for _ in range(2):  # who was held up himself has not seen yet what has come
                    await asyncio.wait([hello], timeout=PATIENCE / 2)
                if not hello.done():
                    hello.cancel()
                    raise ValueError(f"no handshake within {PATIENCE:g} seconds")
                name = self.check(hello.result(), awaited, is_current)
                awaited.remove(name)
                send(writer, "welcome")
                await admit(name, reader, writer)
            except (EOFError, ConnectionError):
                why = "it hung up during the handshake"
            except ValueError as error:
                why = str(error)
            except asyncio.CancelledError:
                pass  # the run is over
            if why:
                say(f"{self.name} refuses {writer.get_extra_info('peername')}: {why}")
            writer.close()

        def open_door(reader: StreamReader, writer: StreamWriter) -> None:
            # As a task of ours: asyncio complains of one of its own that is cancelled at the end.
            visits.append(asyncio.create_task(knock(reader, writer)))

        visits: list[asyncio.Task[None]] = []
        say(f"{self.name} listens on {door.getsockname()}")
        return await asyncio.start_server(open_door, sock=door, limit=ROOM)
