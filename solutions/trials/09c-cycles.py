"""Answers to 09c: wrong ones that must be refused by name, right ones that must be accepted."""

from collections import defaultdict

import chandylamport as cl
from chandylamport.classroom.trials import right, wrong


class Loops:
    """The right way; most of the wrong answers differ from this by a few lines."""

    back = frozenset()

    def __init__(self):
        self.came, self.recorded, self.state = set(), False, None
        self.inputs, self.logs = (), defaultdict(list)

    def begin(self, port):
        if not self.recorded:
            self.recorded, self.state, self.inputs = True, port.record(), port.inputs
            self.pass_on(port)

    def pass_on(self, port):
        for channel in port.outputs:
            port.send(channel, cl.MARKER)

    def on_send(self, port, channel, message):
        return message

    def on_receive(self, port, channel, wire):
        if wire is cl.MARKER:
            self.came.add(channel)
            self.on_barrier(port, channel)
            return None
        if self.is_logged(channel):
            self.logs[channel].append(wire)
        return wire

    def on_barrier(self, port, channel):
        if not self.recorded:
            port.hold(channel)
        if self.ready(port):
            self.begin(port)
            self.let_go(port)

    def ready(self, port):
        return not set(port.inputs) - self.back - self.came

    def let_go(self, port):
        for channel in self.came:
            port.release(channel)

    def is_logged(self, channel):
        return self.recorded and channel in self.back - self.came

    def result(self):
        if self.recorded and self.came == set(self.inputs):
            return self.part()

    def part(self):
        return cl.LocalSnapshot(self.state, {c: tuple(log) for c, log in self.logs.items()})


@wrong("Cyclic", "waits for the back-edge")
class WaitsForEverybody(Loops):
    def ready(self, port):
        return self.came == set(port.inputs)


@wrong("Cyclic", "the back-edge held")
class HoldsWhatIsNotReady(Loops):
    def on_barrier(self, port, channel):
        for edge in self.back & set(port.inputs):
            port.hold(edge)
        super().on_barrier(port, channel)


@wrong("Cyclic", "no log")
class WaitsAndLogsNothing(Loops):
    def is_logged(self, channel):
        return False


@wrong("Cyclic", "done too early")  # and without a log, which cannot be seen beside it
class ForgetsWhatGoesRound(Loops):
    def is_logged(self, channel):
        return False

    def result(self):
        return self.part() if self.recorded else None


@wrong("Cyclic", "done too early")
class HandsInAnUnfinishedLog(Loops):
    def result(self):
        return self.part() if self.recorded else None


@wrong("Cyclic", "logged for ever")
class IgnoresTheBarrierThatReturns(Loops):
    def on_receive(self, port, channel, wire):
        if wire is cl.MARKER and self.recorded:
            return None
        return super().on_receive(port, channel, wire)


@wrong("Cyclic", "logged for ever")
class LogsOnWhenItHasReturned(Loops):
    def is_logged(self, channel):
        return self.recorded and channel in self.back


@wrong("Cyclic", "regular inputs logged")
class LogsEverythingUntilItReturns(Loops):
    def is_logged(self, channel):
        return self.recorded and self.came != set(self.inputs)


@wrong("Cyclic", "the first barrier")
class Unaligned(Loops):
    def ready(self, port):
        return True

    def is_logged(self, channel):
        return self.recorded and channel not in self.came


@wrong("Cyclic", "a log from the beginning")
class LogsAllThatComesRound(Loops):
    def is_logged(self, channel):
        return channel in self.back - self.came


@wrong("Cyclic", "recorded again")
class RecordsWhenItReturns(Loops):
    def on_barrier(self, port, channel):
        super().on_barrier(port, channel)
        if self.recorded:
            self.state = port.record()


@wrong("Cyclic", "nothing held")
class LetsNothingWait(Loops):
    def on_barrier(self, port, channel):
        if self.ready(port):
            self.begin(port)


@wrong("Cyclic", "one back-edge counted")  # only hidden tests have two of them
class OneInputLess(Loops):
    def ready(self, port):
        return len(self.came) >= max(1, len(port.inputs) - 1)

    def is_logged(self, channel):
        return self.recorded and channel not in self.came


@right("Cyclic")
class WithListsForEachBackEdge(Loops):
    pass


@right("Cyclic")
class WithTheBackEdgeHeldMeanwhile(Loops):
    """Lets the back-edge wait as well, but only until the state is recorded."""

    def on_barrier(self, port, channel):
        if not self.recorded:
            for each in (self.back & set(port.inputs)) | {channel}:
                port.hold(each)
        super().on_barrier(port, channel)

    def let_go(self, port):
        for channel in port.inputs:
            port.release(channel)


@right("Cyclic")
class WithTwoSetsOfThoseStillMissing:
    back = frozenset()

    def __init__(self):
        self.regular = self.around = None
        self.part = None

    def begin(self, port):
        if self.part is None:
            self.around = {c for c in port.inputs if c in self.back}
            self.part = cl.LocalSnapshot(port.record(), {c: () for c in self.around})
            for channel in port.outputs:
                port.send(channel, cl.MARKER)

    def on_send(self, port, channel, message):
        return message

    def on_receive(self, port, channel, wire):
        if wire is not cl.MARKER:
            if self.part and channel in self.around:
                self.part.channels[channel] += (wire,)
            return wire
        if channel in self.back:
            self.around.remove(channel)
            return None
        if self.regular is None:
            self.regular = {c for c in port.inputs if c not in self.back}
        self.regular.remove(channel)
        port.hold(channel)
        if not self.regular:
            self.begin(port)
            for held in port.inputs:
                port.release(held)

    def result(self):
        return None if self.around is None or self.around else self.part
