"""Answers to 09b: wrong ones that must be refused by name, right ones that must be accepted."""

from chandylamport.classroom.trials import right, wrong

# --- task 1 --------------------------------------------------------------------------------------


def last_of(checkpoints):
    """The last complete checkpoint, or None."""
    for id in sorted(checkpoints, reverse=True):
        if checkpoints[id] is not None:
            return checkpoints[id]
    return None


def set_states(job, snapshot):
    for operator in job.operators:
        if snapshot is not None:
            job.set_state(operator, snapshot.states[operator])


def fill_channels(job, snapshot):
    for channel in job.channels:
        if snapshot is not None:
            job.put(channel, snapshot.channels[channel])


def start_sources(job, snapshot):
    for source in job.sources:
        job.start(source, 0 if snapshot is None else snapshot.states[source][0])


@wrong("recover", "what was in flight is forgotten")
def restores_states_and_offsets(job, checkpoints):
    set_states(job, last_of(checkpoints))
    start_sources(job, last_of(checkpoints))


@wrong("recover", "in flight behind new records")
def starts_the_sources_too_soon(job, checkpoints):
    last = last_of(checkpoints)
    start_sources(job, last)
    set_states(job, last)
    fill_channels(job, last)


@wrong("recover", "offsets not rewound")
def lets_the_sources_go_on(job, checkpoints):
    set_states(job, last_of(checkpoints))
    fill_channels(job, last_of(checkpoints))


@wrong("recover", "offsets not rewound")
def does_nothing(job, checkpoints):
    pass


@wrong("recover", "offsets without states")
def rewinds_only(job, checkpoints):
    fill_channels(job, last_of(checkpoints))
    start_sources(job, last_of(checkpoints))


@wrong("recover", "from the beginning")
def sends_everything_again(job, checkpoints):
    set_states(job, last_of(checkpoints))
    fill_channels(job, last_of(checkpoints))
    start_sources(job, None)


@wrong("recover", "too far back")
def gives_up_if_the_newest_is_not_complete(job, checkpoints):
    newest = checkpoints[max(checkpoints)] if checkpoints else None
    set_states(job, newest)
    fill_channels(job, newest)
    start_sources(job, newest)


@wrong("recover", "too far back")
def takes_the_first_that_is_complete(job, checkpoints):
    first = next((s for _, s in sorted(checkpoints.items()) if s is not None), None)
    set_states(job, first)
    fill_channels(job, first)
    start_sources(job, first)


@wrong("recover", "one operator restored")  # only hidden tests have two operators
def brings_one_operator_back(job, checkpoints):
    last = last_of(checkpoints)
    if last is not None:
        job.set_state("op", last.states["op"])
    fill_channels(job, last)
    start_sources(job, last)


@right("recover")
def step_by_step(job, checkpoints):
    last = last_of(checkpoints)
    set_states(job, last)
    fill_channels(job, last)
    start_sources(job, last)


@right("recover")
def one_source_after_the_other(job, checkpoints):
    """The order of the three things matters only within a channel."""
    last = last_of(checkpoints)
    for source in job.sources:
        for channel in job.channels:
            if last is not None and channel.src == source:
                job.put(channel, last.channels[channel])
        job.start(source, last.states[source][0] if last is not None else 0)
    set_states(job, last)


# --- task 2 --------------------------------------------------------------------------------------


class Phases:
    """The right way; most of the wrong answers differ from this by a few lines."""

    def __init__(self, outside):
        self.outside = outside
        self.records = ()

    def write(self, record):
        self.records += (record,)

    def on_barrier(self, id):
        self.outside.stage(id, self.records)
        self.records = ()

    def on_complete(self, id):
        for each in self.waiting():
            if each <= id:
                self.outside.commit(each)

    def recover(self, id):
        for each in self.waiting():
            if id is not None and each <= id:
                self.outside.commit(each)
            else:
                self.outside.drop(each)

    def waiting(self):
        return [id for id in sorted(self.outside.staged) if id not in self.outside.committed]


@wrong("Sink", "visible at once")
class Plain(Phases):
    def write(self, record):
        self.outside.show([record])

    def on_barrier(self, id):
        pass

    def recover(self, id):
        pass


@wrong("Sink", "committed too early")
class InOnePhase(Phases):
    def on_barrier(self, id):
        super().on_barrier(id)
        super().on_complete(id)


@wrong("Sink", "dropped")
class BeginsWithNothing(Phases):
    def recover(self, id):
        for each in self.waiting():
            self.outside.drop(each)


@wrong("Sink", "committed twice")
class CommitsWithoutAsking(Phases):
    def recover(self, id):
        if id is not None:
            self.outside.commit(id)
        for each in self.waiting():
            self.outside.drop(each)


@wrong("Sink", "never complete, and committed")
class FinishesWhatWasBegun(Phases):
    def recover(self, id):
        for each in self.waiting():
            self.outside.commit(each)


@wrong("Sink", "left behind")
class CommitsAndLeavesTheRest(Phases):
    def recover(self, id):
        if id is not None:
            self.on_complete(id)


@wrong("Sink", "left behind")
class LooksAtOneOnly(Phases):
    def on_complete(self, id):
        if id in self.waiting():
            self.outside.commit(id)

    def recover(self, id):
        self.on_complete(id)


@wrong("Sink", "its own id only")
class ForgetsWhatWasGivenUp(Phases):
    def on_complete(self, id):
        self.outside.commit(id)

    def recover(self, id):
        for each in self.waiting():
            if each == id:
                self.outside.commit(each)
            else:
                self.outside.drop(each)


@wrong("Sink", "one transaction for all")
class NeverBeginsANewOne(Phases):
    def on_barrier(self, id):
        self.outside.stage(id, self.records)


@wrong("Sink", "staged too late")
class WaitsForTheWord(Phases):
    def on_barrier(self, id):
        pass

    def on_complete(self, id):
        self.outside.stage(id, self.records)
        self.records = ()
        self.outside.commit(id)


@right("Sink")
class WithTuples(Phases):
    pass


@right("Sink")
class WithOneTransactionForAllThatIsGivenUp:
    """Takes the records of a checkpoint that is not complete over into the next one."""

    def __init__(self, outside):
        self.outside, self.pending = outside, {}
        self.now = []

    def write(self, record):
        self.now.append(record)

    def on_barrier(self, id):
        for old in list(self.pending):
            self.now = self.pending.pop(old) + self.now
            self.outside.drop(old)
        self.pending[id], self.now = self.now, []
        self.outside.stage(id, self.pending[id])

    def on_complete(self, id):
        self.outside.commit(id)
        del self.pending[id]

    def recover(self, id):
        for staged in list(self.outside.staged):
            if staged in self.outside.committed:
                continue
            if staged == id:
                self.outside.commit(staged)
            else:
                self.outside.drop(staged)
