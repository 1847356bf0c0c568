"""Systems to be photographed: banks, a token, the paper's examples, objects, work.

Each process is a few lines: what it may do in a state, and what a message changes. None of them
knows that there are snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .events import Channel, Computation, Event, MalformedComputation
from .recorder import Payload, State
from .systems import Action, Fifo, System
from .topologies import complete, ring

# --- processes that follow a text -----------------------------------------------------------------


@dataclass(frozen=True)
class Actor:
    """Performs one process of a given computation; its state is the number of events done."""

    script: tuple[tuple[Action | None, str], ...]  # an action, or the message to wait for
    initial: int = 0

    def enabled(self, state: int) -> Iterator[Action]:
        """The next event, unless it is to receive."""
        for action, _ in self.script[state : state + 1]:
            if action is not None:
                yield action

    def step(self, state: int, action: Action) -> int:
        """One event more."""
        return state + 1

    def accepts(self, state: int, channel: Channel, message: Payload) -> bool:
        """Whether this is the message to be received next."""
        return state < len(self.script) and self.script[state] == (None, message)

    def receive(self, state: int, channel: Channel, message: Payload) -> int:
        """One event more."""
        return state + 1


def actors(computation: Computation) -> dict[str, Actor]:
    """Processes that perform exactly this computation, in any order that it allows.

    >>> from chandylamport import computation
    >>> actors(computation("p: m!\\nq: m?"))["q"].accepts(0, Channel("p", "q"), "m")
    True
    """

    def entry(event: Event) -> tuple[Action | None, str]:
        if len(event.receives) + bool(event.sends) > 1:
            raise MalformedComputation(
                f"{event}: an actor receives one message, or sends, not both"
            )
        if event.receives:
            return None, event.receives[0]
        sends = tuple((computation.messages[name].dst, name) for name in event.sends)
        return Action("" if len(sends) > 1 else event.name.rstrip("!"), sends), ""

    return {
        process: Actor(tuple(map(entry, history)))
        for process, history in zip(computation.processes, computation.histories, strict=True)
    }


@dataclass(frozen=True)
class Automaton:
    """A finite state machine: in a state it may send (`M!q`), receive (`M?`) or do something."""

    initial: str
    table: Mapping[tuple[str, str], str]  # state and event, to the next state
    limit: int = 1_000

    def enabled(self, state: str) -> Iterator[Action]:
        """The transitions from this state that do not receive."""
        for before, event in self.table:
            if before == state and not event.endswith("?"):
                name, _, receiver = event.partition("!")
                yield Action(name, ((receiver, name),) if receiver else (), event)

    def step(self, state: str, action: Action) -> str:
        """Follow the table."""
        return self.table[state, action.then]

    def accepts(self, state: str, channel: Channel, message: Payload) -> bool:
        """Whether the table has a transition for it."""
        return (state, f"{message}?") in self.table

    def receive(self, state: str, channel: Channel, message: Payload) -> str:
        """Follow the table."""
        return self.table[state, f"{message}?"]


@dataclass(frozen=True)
class Writer:
    """Sends its letters in order, whenever it likes; its state is what it sent and received."""

    letters: tuple[tuple[str, Payload], ...]
    initial: tuple[int, tuple[Payload, ...]] = (0, ())

    def enabled(self, state: State) -> Iterator[Action]:
        """The next letter."""
        for dst, letter in self.letters[state[0] : state[0] + 1]:
            yield Action(str(letter), ((dst, letter),))

    def step(self, state: State, action: Action) -> State:
        """One letter more is sent."""
        return state[0] + 1, state[1]

    def receive(self, state: State, channel: Channel, message: Payload) -> State:
        """One letter more has come."""
        return state[0], (*state[1], message)


def letters(**to_send: Sequence[tuple[str, Payload]]) -> dict[str, Writer]:
    """Processes that send the given letters in order, and receive at any time.

    >>> letters(p=[("q", "m")], q=[])["p"].letters
    (('q', 'm'),)
    """
    return {name: Writer(tuple(list_)) for name, list_ in to_send.items()}


# --- banks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Account:
    """Makes some payments, in any order and to anybody; its state is the balance."""

    initial: int
    payments: Mapping[str, int]  # to whom, and how much; 0: an amount that depends on the balance
    limit: int

    def enabled(self, balance: int) -> Iterator[Action]:
        """A payment to anybody, as long as there is the money for it."""
        for other, amount in self.payments.items():
            amount = amount or min(balance, 1 + 7 * balance % 10)
            if 0 < amount <= balance:
                yield Action("", ((other, amount),))

    def step(self, balance: int, action: Action) -> int:
        """The money leaves."""
        return balance - int(action.sends[0][1])

    def receive(self, balance: int, channel: Channel, message: Payload) -> int:
        """The money comes."""
        return balance + int(message)


def accounts(transfers: int = 1, **balances: int) -> dict[str, Account]:
    """Accounts that pay one another, each at most so many times.

    >>> accounts(p=100, q=50, transfers=20)["q"].initial
    50
    """
    return {
        name: Account(balance, {other: 0 for other in balances if other != name}, transfers)
        for name, balance in balances.items()
    }


def bank(balances: Mapping[str, int], *payments: tuple[str, str, int]) -> dict[str, Account]:
    """Accounts that choose among given payments: from whom, to whom, how much.

    Each makes as many payments as it is given, in any order; it may repeat one and leave out
    another, for its state is the balance alone.
    """
    if strangers := [end for payment in payments for end in payment[:2] if end not in balances]:
        raise ValueError(f"a payment of {strangers[0]}, who has no balance")
    if len({(src, dst) for src, dst, _ in payments}) < len(payments):
        raise ValueError("two payments on the same channel: name one amount for each channel")
    own = {name: {dst: m for src, dst, m in payments if src == name} for name in balances}
    return {name: Account(balances[name], own[name], len(own[name])) for name in balances}


def textbook_bank() -> System:
    """Two branches with 600 and 200; A pays 50 to B, and B pays 80 to A."""
    return System(bank({"A": 600, "B": 200}, ("A", "B", 50), ("B", "A", 80)), Fifo(complete("AB")))


def three_process_bank() -> System:
    """Three branches with 100, 200 and 300, and four payments to choose from."""
    payments = ("R", "Q", 30), ("Q", "P", 20), ("P", "R", 10), ("R", "P", 5)
    return System(bank({"P": 100, "Q": 200, "R": 300}, *payments), Fifo(complete("PQR")))


# --- the paper's examples -------------------------------------------------------------------------


@dataclass(frozen=True)
class Holder:
    """Passes a token on when it has it; the token counts down the hops that are left."""

    initial: str
    to: str
    limit: int

    def enabled(self, state: str) -> Iterator[Action]:
        """To send the token, in the state s1."""
        if state == "s1":
            yield Action("token", ((self.to, "token"),))

    def step(self, state: str, action: Action) -> str:
        """The token leaves."""
        return "s0"

    def receive(self, state: str, channel: Channel, message: Payload) -> str:
        """The token comes."""
        return "s1"


def single_token(hops: int = 2) -> System:
    """The single-token conservation system, Example 2.1: the token is in p, c, q or c'."""
    holders = {"p": Holder("s1", "q", (hops + 1) // 2), "q": Holder("s0", "p", hops // 2)}
    return System(holders, Fifo(complete("pq")))


def example_2_2() -> System:
    """The nondeterministic system of the paper: its snapshot shows a state that never occurred."""
    p = Automaton("A", {("A", "M!q"): "B", ("B", "M'?"): "A"}, limit=1)
    q = Automaton("C", {("C", "M'!p"): "D", ("D", "M?"): "C"}, limit=1)
    return System({"p": p, "q": q}, Fifo(complete("pq")))


EXAMPLE_2_2 = """
    p records
    p sends M to q
    q sends M' to p
    p receives M'
    q receives marker from p
    p receives marker from q
"""


# --- systems with a stable property ---------------------------------------------------------------


def work_pool(processes: str = "pq", actions: int = 2) -> System:
    """Who is active may send work or go passive, and work makes active; at first, only one is."""
    rules = {("active", "rest"): "passive", ("active", "work?"): "active"}
    rules["passive", "work?"] = "active"

    def worker(name: str) -> Automaton:
        sends = {("active", f"work!{other}"): "active" for other in processes if other != name}
        initial = "active" if name == processes[0] else "passive"
        return Automaton(initial, rules | sends, actions)

    return System({name: worker(name) for name in processes}, Fifo(complete(processes)))


@dataclass(frozen=True)
class Server:
    """Calls others, and waits for each reply; as long as it waits, it replies to nobody.

    Its state: for whom it waits, whose calls it has still to answer, and whom it has still to call.
    """

    initial: tuple[str, tuple[str, ...], tuple[str, ...]]

    def enabled(self, state: State) -> Iterator[Action]:
        """To answer the oldest call, or to make the next."""
        waits_for, callers, calls = state
        for kind, others in ("reply", callers), ("call", calls):
            for other in () if waits_for else others[:1]:
                yield Action(kind, ((other, kind),))

    def step(self, state: State, action: Action) -> State:
        """A call answered, or a call made and its reply waited for."""
        _, callers, calls = state
        other, kind = action.sends[0]
        return ("", callers[1:], calls) if kind == "reply" else (other, callers, calls[1:])

    def receive(self, state: State, channel: Channel, message: Payload) -> State:
        """The wait is over, or somebody else's has begun."""
        waits_for, callers, calls = state
        if message == "reply":
            return "", callers, calls
        return waits_for, (*callers, channel.src), calls


def servers(processes: str = "pq") -> System:
    """Servers that do one thing at a time; each calls the next one once, and the last the first."""
    return System(
        {c.src: Server(("", (), (c.dst,))) for c in ring(processes)}, Fifo(complete(processes))
    )


@dataclass(frozen=True)
class Program:
    """Sends the references in its variables to other programs, and drops them.

    Its state lists who holds which references: each object that lives here, and the program
    itself, under its own name, in its variables.
    """

    name: str
    initial: tuple[tuple[str, tuple[str, ...]], ...]
    others: tuple[str, ...]
    limit: int = 2

    def enabled(self, state: State) -> Iterator[Action]:
        """To drop a reference, or to send a copy of it; what no variable holds is out of reach."""
        for reference in dict(state)[self.name]:
            yield Action(f"drop {reference}", then=reference)
            for other in self.others:
                yield Action(reference, ((other, reference),))

    def step(self, state: State, action: Action) -> State:
        """A reference less in the variables, if it was dropped."""
        return self._with(state, set(dict(state)[self.name]) - {action.then})

    def receive(self, state: State, channel: Channel, message: Payload) -> State:
        """A reference more in the variables."""
        return self._with(state, {*dict(state)[self.name], message})

    def _with(self, state: State, variables: set[str]) -> State:
        return tuple(sorted({**dict(state), self.name: tuple(sorted(variables))}.items()))


def object_graph() -> System:
    """Objects a and b that hold each other, on two machines; p knows a, and q knows c.

    The programs p and q are the roots: an object that no variable leads to is garbage.
    """
    p = Program("p", (("a", ("b",)), ("p", ("a",))), ("q",))
    q = Program("q", (("b", ("a",)), ("c", ()), ("q", ("c",))), ("p",))
    return System({"p": p, "q": q}, Fifo(complete("pq")))
