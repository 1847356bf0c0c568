"""Answers to 03b: wrong ones that must be refused by name, right ones that must be accepted."""

from collections import deque

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong


class Rules:
    """The two rules; most of the wrong answers differ from this by a few lines."""

    def __init__(self):
        self.state = None
        self.waiting = None  # channels still without a marker; None before the recording
        self.logs = {}

    def begin(self, port):
        if self.waiting is None:
            self.start(port)

    def start(self, port):
        self.state = port.record()
        self.waiting = list(port.inputs)
        self.logs = {channel: [] for channel in port.inputs}
        self.tell(port)

    def tell(self, port):
        for channel in port.outputs:
            port.send(channel, cl.MARKER)

    def on_send(self, port, channel, message):
        return message

    def on_receive(self, port, channel, wire):
        if wire == cl.MARKER:
            self.on_marker(port, channel)
            return None
        self.on_message(port, channel, wire)
        return wire

    def on_marker(self, port, channel):
        if self.waiting is None:
            self.start(port)
        self.waiting.remove(channel)

    def on_message(self, port, channel, message):
        if self.waiting and channel in self.waiting:
            self.logs[channel].append(message)

    def result(self):
        if self.waiting == []:
            return self.part()

    def part(self):
        return cl.LocalSnapshot(self.state, {c: tuple(log) for c, log in self.logs.items()})


@wrong("MarkerRules", "swallowed messages")
class ForgetsToReturn(Rules):
    def on_receive(self, port, channel, wire):
        if wire is cl.MARKER:
            self.on_marker(port, channel)
        else:
            self.on_message(port, channel, wire)


@wrong("MarkerRules", "swallowed messages")
class SendsNothing(Rules):
    def on_send(self, port, channel, message):
        pass


@wrong("MarkerRules", "no log")
class StatesOnly:
    def __init__(self):
        self.seen, self.state, self.needed = 0, None, None

    def begin(self, port):
        self.state, self.needed = port.record(), len(port.inputs)
        for channel in port.outputs:
            port.send(channel, cl.MARKER)

    def on_send(self, port, channel, message):
        return message

    def on_receive(self, port, channel, wire):
        if wire is not cl.MARKER:
            return wire
        if self.needed is None:
            self.begin(port)
        self.seen += 1

    def result(self):
        return cl.LocalSnapshot(self.state, {}) if self.seen == self.needed else None


@wrong("MarkerRules", "a log from the beginning")
class LogsAllBeforeTheMarker(Rules):
    def __init__(self):
        super().__init__()
        self.closed = set()

    def on_marker(self, port, channel):
        before = self.logs
        if self.waiting is None:
            self.start(port)
            self.logs.update(before)
        self.waiting.remove(channel)
        self.closed.add(channel)

    def begin(self, port):
        before = self.logs
        super().begin(port)
        self.logs = {**self.logs, **before}

    def on_message(self, port, channel, message):
        if channel not in self.closed:
            self.logs[channel] = [*self.logs.get(channel, []), message]


@wrong("MarkerRules", "a log behind the marker")
class StartsToLogAtTheMarker(Rules):
    def on_message(self, port, channel, message):
        if self.waiting is not None and channel not in self.waiting:
            self.logs[channel].append(message)


@wrong("MarkerRules", "the first channel left open")
class LogsOnBehindTheFirstMarker(Rules):
    first = None

    def on_marker(self, port, channel):
        if self.waiting is None:
            self.first = channel
            self.start(port)
        self.waiting.remove(channel)

    def on_message(self, port, channel, message):
        if self.waiting is not None and (channel in self.waiting or channel == self.first):
            self.logs[channel].append(message)


@wrong("MarkerRules", "every channel closed")
class FinishesAtTheFirstMarker(Rules):
    def on_marker(self, port, channel):
        if self.waiting is None:
            self.start(port)
        self.waiting = []


@wrong("MarkerRules", "recorded again")
class KeepsTheLatestState(Rules):
    def on_marker(self, port, channel):
        if self.waiting is None:
            self.start(port)
        else:
            self.state = port.record()
        self.waiting.remove(channel)


@wrong("MarkerRules", "recorded again")
class StartsAtEveryMarker(Rules):
    def on_marker(self, port, channel):
        self.start(port)
        self.waiting.remove(channel)


@wrong("MarkerRules", "the first marker seen")
class AsksForTheFirstMarker(Rules):
    markers = 0

    def on_marker(self, port, channel):
        self.markers += 1
        if self.markers == 1:
            self.start(port)
        if channel in self.waiting:
            self.waiting.remove(channel)


@wrong("MarkerRules", "markers without end")
class AnswersEachMarker(Rules):
    def on_marker(self, port, channel):
        if self.waiting is None:
            self.start(port)
        else:
            self.tell(port)
        self.waiting = [c for c in self.waiting if c != channel]


@wrong("MarkerRules", "no markers at the beginning")
class BeginsWithoutAWord(Rules):
    def begin(self, port):
        if self.waiting is None:
            self.state, self.waiting = port.record(), list(port.inputs)
            self.logs = {channel: [] for channel in port.inputs}


@wrong("MarkerRules", "markers not passed on")
class OnlyTheInitiatorSends(Rules):
    def start(self, port):
        self.state, self.waiting = port.record(), list(port.inputs)
        self.logs = {channel: [] for channel in port.inputs}

    def begin(self, port):
        if self.waiting is None:
            self.start(port)
            self.tell(port)


@wrong("MarkerRules", "a marker back only")
class RepliesToTheSender(Rules):
    def on_marker(self, port, channel):
        if self.waiting is None:
            self.state, self.waiting = port.record(), list(port.inputs)
            self.logs = {each: [] for each in port.inputs}
            if (channel.dst, channel.src) in port.outputs:
                port.send(cl.Channel(channel.dst, channel.src), cl.MARKER)
        self.waiting.remove(channel)


@wrong("MarkerRules", "late markers")
class SendsMarkersAtTheNextArrival(Rules):
    due = False

    def tell(self, port):
        self.due = True

    def on_receive(self, port, channel, wire):
        got = super().on_receive(port, channel, wire)
        if self.due:
            self.due = False
            super().tell(port)
        return got


@wrong("MarkerRules", "done too early")
class DoneAtTheRecording(Rules):
    def result(self):
        return None if self.waiting is None else self.part()


@wrong("MarkerRules", "outputs counted")  # only hidden tests have more channels in than out
class WaitsForAnAnswerToEachMarker(Rules):
    due = None

    def tell(self, port):
        super().tell(port)
        self.due = len(port.outputs)

    def on_marker(self, port, channel):
        super().on_marker(port, channel)
        self.due -= 1

    def result(self):
        return self.part() if self.due is not None and self.due <= 0 else None


@wrong("MarkerRules", "one log for all")
class OneListForAll(Rules):
    def start(self, port):
        super().start(port)
        self.logs = dict.fromkeys(port.inputs, [])


@wrong("MarkerRules", "a set")
class LogsInASet(Rules):
    def on_message(self, port, channel, message):
        if self.waiting and channel in self.waiting and message not in self.logs[channel]:
            self.logs[channel].append(message)


@wrong("MarkerRules", "last first")  # only hidden tests have two different messages on a channel
class PushesInFront(Rules):
    def on_message(self, port, channel, message):
        if self.waiting and channel in self.waiting:
            self.logs[channel].insert(0, message)


@wrong("MarkerRules", "a drained channel")
class EmptiesTheChannel(Rules):
    def on_receive(self, port, channel, wire):
        got = super().on_receive(port, channel, wire)
        return None if self.waiting is not None and channel not in self.waiting else got


@right("MarkerRules")
class WithLists(Rules):
    pass


@right("MarkerRules")
class WithACounterForEachChannel:
    """Keeps all arrivals, and cuts the log out of them when it is asked."""

    def __init__(self):
        self.arrived, self.since, self.until = {}, None, {}

    def begin(self, port):
        if self.since is None:
            self.state, self.inputs = port.record(), port.inputs
            self.since = {c: len(self.arrived.get(c, ())) for c in port.inputs}
            for channel in port.outputs:
                port.send(channel, cl.MARKER)

    def on_send(self, port, channel, message):
        return message

    def on_receive(self, port, channel, wire):
        if wire is cl.MARKER:
            self.begin(port)
            self.until[channel] = len(self.arrived.get(channel, ()))
            return None
        self.arrived.setdefault(channel, []).append(wire)
        return wire

    def result(self):
        if self.since is None or set(self.until) != set(self.inputs):
            return None
        logs = {c: self.arrived.get(c, [])[self.since[c] : self.until[c]] for c in self.inputs}
        return cl.LocalSnapshot(self.state, logs)


@right("MarkerRules")
class WithQueuesAndAStateOfItsOwn:
    def __init__(self):
        self.phase = "before"

    def begin(self, port):
        if self.phase == "before":
            self.phase, self.state = "logging", port.record()
            self.queues = {channel: deque() for channel in port.inputs}
            self.finished = {channel: False for channel in port.inputs}
            for channel in reversed(port.outputs):
                port.send(channel, cl.MARKER)

    def on_send(self, port, channel, message):
        return message

    def on_receive(self, port, channel, wire):
        marker = wire is cl.MARKER
        if marker:
            self.begin(port)
            self.finished[channel] = True
        elif self.phase == "logging" and not self.finished[channel]:
            self.queues[channel].append(wire)
        return None if marker else wire

    def result(self):
        if self.phase == "logging" and all(self.finished.values()):
            return cl.LocalSnapshot(self.state, {c: tuple(q) for c, q in self.queues.items()})
