"""Answers to 05a: wrong ones that must be refused by name, right ones that must be accepted."""

from collections import Counter, defaultdict

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong
from chandylamport.lai_yang import Coloured


class Rules:
    """The rules of the colours; most of the wrong answers differ from this by a few lines."""

    def __init__(self):
        self.colour = "white"
        self.state = None
        self.late = defaultdict(list)
        self.sent, self.got = Counter(), Counter()

    @property
    def red(self):
        return self.colour == "red"

    def begin(self, port):
        if self.colour == "white":
            self.record(port)

    def record(self, port):
        self.colour, self.state = "red", port.record()
        self.tell(port)

    def tell(self, port):
        for channel in port.outputs:
            port.send(channel, Coloured(True))

    def on_send(self, port, channel, message):
        if not self.red:
            self.sent[channel] += 1
        return Coloured(self.red, message)

    def on_receive(self, port, channel, wire):
        if wire.red:
            self.on_red(port, channel, wire)
        else:
            self.on_white(channel, wire.message)
        return wire.message

    def on_red(self, port, channel, wire):
        self.begin(port)

    def on_white(self, channel, message):
        self.got[channel] += 1
        if self.red:
            self.late[channel].append(message)

    def result(self):
        if self.red:
            return cl.LocalSnapshot(self.state, self.logs(), self.owed())

    def logs(self):
        return {channel: tuple(messages) for channel, messages in self.late.items()}

    def owed(self):
        return {c: self.sent[c] - self.got[c] for c in {*self.sent, *self.got}}


@wrong("Colours", "no forced red")
class ReadsRedAndStaysWhite(Rules):
    def on_red(self, port, channel, wire):
        if wire.message is None:
            self.begin(port)


@wrong("Colours", "no forced red")
class RecordsOnlyByItself(Rules):
    def on_red(self, port, channel, wire):
        pass


@wrong("Colours", "nobody told")
class LeavesItToTheMessages(Rules):
    def tell(self, port):
        pass


@wrong("Colours", "not passed on")
class OnlyTheInitiatorTells(Rules):
    def begin(self, port):
        if not self.red:
            self.record(port)
            super().tell(port)

    def tell(self, port):
        pass

    def on_red(self, port, channel, wire):
        if not self.red:
            self.record(port)


@wrong("Colours", "recorded again")
class RecordsAtEachRed(Rules):
    def on_red(self, port, channel, wire):
        self.begin(port)
        self.state = port.record()


@wrong("Colours", "no log")
class StatesAndNumbersOnly(Rules):
    def logs(self):
        return {}


@wrong("Colours", "red logged")
class LogsAllThatComesAfterwards(Rules):
    def on_red(self, port, channel, wire):
        self.begin(port)
        if wire.message is not None:
            self.late[channel].append(wire.message)


@wrong("Colours", "a log from the beginning")
class LogsEveryWhiteMessage(Rules):
    def on_white(self, channel, message):
        self.got[channel] += 1
        self.late[channel].append(message)


@wrong("Colours", "a set")  # only hidden tests have two equal messages
class CollectsInASet(Rules):
    def logs(self):
        return {channel: tuple(set(messages)) for channel, messages in self.late.items()}


@wrong("Colours", "markers in disguise")
class ClosesTheChannelAtRed(Rules):
    def __init__(self):
        super().__init__()
        self.closed = set()

    def on_red(self, port, channel, wire):
        self.begin(port)
        self.closed.add(channel)

    def on_white(self, channel, message):
        self.got[channel] += 1
        if self.red and channel not in self.closed:
            self.late[channel].append(message)


@wrong("Colours", "markers in disguise")
class IsDoneWhenRedHasCome(Rules):
    def __init__(self):
        super().__init__()
        self.open = set()

    def record(self, port):
        self.open = set(port.inputs)
        super().record(port)

    def on_red(self, port, channel, wire):
        self.begin(port)
        self.open.discard(channel)

    def result(self):
        if self.red and not self.open:
            return cl.LocalSnapshot(self.state, self.logs())


@wrong("Colours", "no count from the start")
class HandsInNoNumbers(Rules):
    def owed(self):
        return {}


@wrong("Colours", "no count from the start")
class StartsAfreshWhenItRecords(Rules):
    def record(self, port):
        self.sent, self.got = Counter(), Counter()
        super().record(port)


@wrong("Colours", "arrivals forgotten")
class CountsWhatComesLateOnly(Rules):
    def on_white(self, channel, message):
        if self.red:
            self.got[channel] += 1
            self.late[channel].append(message)


@wrong("Colours", "counts frozen")
class HandsInTheCountsOfTheRecording(Rules):
    then = None

    def record(self, port):
        self.then = super().owed()
        super().record(port)

    def owed(self):
        return self.then


@wrong("Colours", "red counted")
class CountsWhateverIsSentAndComes(Rules):
    def on_send(self, port, channel, message):
        self.sent[channel] += 1
        return Coloured(self.red, message)

    def on_red(self, port, channel, wire):
        self.begin(port)
        if wire.message is not None:
            self.got[channel] += 1


@wrong("Colours", "red counted")
class CountsWhateverComes(Rules):
    def on_red(self, port, channel, wire):
        self.begin(port)
        if wire.message is not None:
            self.got[channel] += 1


@right("Colours")
class WithTwoCounters(Rules):
    pass


@right("Colours")
class WithOneNumber:
    """Mattern's counter: one number for the process, under one name."""

    def __init__(self):
        self.part, self.deficiency, self.late = None, 0, ()

    def begin(self, port):
        if self.part is None:
            self.part = port.record(), {}
            for channel in reversed(port.outputs):
                port.send(channel, "red")

    def on_send(self, port, channel, message):
        self.deficiency += self.part is None
        return ("white" if self.part is None else "red", message)

    def on_receive(self, port, channel, wire):
        if wire == "red":
            return self.begin(port)
        colour, message = wire
        if colour == "red":
            self.begin(port)
        else:
            self.deficiency -= 1
            self.late += ((channel, message),) if self.part else ()
        return message

    def result(self):
        if self.part is None:
            return None
        logs = {c: [m for d, m in self.late if c == d] for c, _ in self.late}
        return cl.LocalSnapshot(self.part[0], logs, {"white": self.deficiency})


@right("Colours")
class WithHistories:
    """Keeps whole histories, as in the paper, and looks into them when it is asked."""

    def __init__(self):
        self.history, self.state, self.inputs = [], None, None

    @property
    def red(self):
        return self.inputs is not None

    def begin(self, port):
        if not self.red:
            self.state, self.inputs = port.record(), port.inputs
            for channel in port.outputs:
                port.send(channel, Coloured(True))

    def on_send(self, port, channel, message):
        self.history.append(("sent", channel, message, self.red, self.red))
        return Coloured(self.red, message)

    def on_receive(self, port, channel, wire):
        if wire.red:
            self.begin(port)
        if wire.message is not None:
            self.history.append(("came", channel, wire.message, wire.red, self.red))
        return wire.message

    def result(self):
        if not self.red:
            return None
        white = [entry for entry in self.history if not entry[3]]
        owed = Counter(entry[1] for entry in white if entry[0] == "sent")
        owed.subtract(entry[1] for entry in white if entry[0] == "came")
        logs = {c: tuple(e[2] for e in white if e[1] == c and e[4]) for c in self.inputs}
        return cl.LocalSnapshot(self.state, logs, owed)


@right("Colours")
class TellsThoseWhoMayNotKnow(Rules):
    """Sends no red wire to the process from which it has heard."""

    def on_red(self, port, channel, wire):
        if not self.red:
            self.colour, self.state = "red", port.record()
            for output in port.outputs:
                if output.dst != channel.src:
                    port.send(output, wire._replace(message=None))
