"""Answers to 11a: wrong ones that must be refused by name, right ones that must be accepted."""

import uuid

from chandylamport.classroom.trials import right, wrong

# --- task 1 --------------------------------------------------------------------------------------


def planned(checkpoint):
    """The last batch that was planned, or None."""
    return max(checkpoint.offsets) if checkpoint.offsets else None


def is_open(checkpoint):
    """Whether it is still to be run."""
    last = planned(checkpoint)
    return last is not None and last not in checkpoint.commits


def new_id(checkpoint):
    last = planned(checkpoint)
    return 0 if last is None else last + 1


def start_of(checkpoint, batch):
    return checkpoint.offsets.get(batch - 1, 0)


@wrong("run_batch", "committed before it was written")
def commits_too_soon(checkpoint, source, sink):
    batch = planned(checkpoint) if is_open(checkpoint) else new_id(checkpoint)
    if not is_open(checkpoint):
        checkpoint.plan(batch, len(source))
    checkpoint.commit(batch)
    sink(batch, source[start_of(checkpoint, batch) : checkpoint.offsets[batch]])


@wrong("run_batch", "planned too late")
def writes_both_logs_behind_the_batch(checkpoint, source, sink):
    batch = planned(checkpoint) if is_open(checkpoint) else new_id(checkpoint)
    end = checkpoint.offsets.get(batch, len(source))
    sink(batch, source[start_of(checkpoint, batch) : end])
    checkpoint.plan(batch, end)
    checkpoint.commit(batch)


@wrong("run_batch", "new offsets for an old batch")
def asks_the_commits_only(checkpoint, source, sink):
    batch = max(checkpoint.commits, default=-1) + 1
    checkpoint.plan(batch, len(source))
    sink(batch, source[start_of(checkpoint, batch) :])
    checkpoint.commit(batch)


@wrong("run_batch", "planned and skipped")
def asks_the_offsets_only(checkpoint, source, sink):
    batch = new_id(checkpoint)
    checkpoint.plan(batch, len(source))
    sink(batch, source[start_of(checkpoint, batch) : len(source)])
    checkpoint.commit(batch)


@wrong("run_batch", "a new id for old rows")
def gives_each_attempt_an_id(checkpoint, source, sink):
    batch, end = new_id(checkpoint), len(source)
    start = start_of(checkpoint, batch)
    if is_open(checkpoint):
        start, end = start_of(checkpoint, batch - 1), checkpoint.offsets[batch - 1]
    checkpoint.plan(batch, end)
    sink(batch, source[start:end])
    checkpoint.commit(batch)


@wrong("run_batch", "from the beginning")
def forgets_where_a_batch_begins(checkpoint, source, sink):
    batch = planned(checkpoint) if is_open(checkpoint) else new_id(checkpoint)
    if not is_open(checkpoint):
        checkpoint.plan(batch, len(source))
    sink(batch, source[: checkpoint.offsets[batch]])
    checkpoint.commit(batch)


@wrong("run_batch", "ids counted")  # only hidden tests are long enough for a log to be cleaned
def counts_the_commits(checkpoint, source, sink):
    batch = len(checkpoint.commits)
    if batch not in checkpoint.offsets:
        checkpoint.plan(batch, len(source))
    sink(batch, source[start_of(checkpoint, batch) : checkpoint.offsets[batch]])
    checkpoint.commit(batch)


@wrong("run_batch", "never committed")
def forgets_to_commit(checkpoint, source, sink):
    batch = planned(checkpoint) if is_open(checkpoint) else new_id(checkpoint)
    if not is_open(checkpoint):
        checkpoint.plan(batch, len(source))
    sink(batch, source[start_of(checkpoint, batch) : checkpoint.offsets[batch]])


@right("run_batch")
def first_the_old_then_the_new(checkpoint, source, sink):
    for batch, end in checkpoint.offsets.items():
        if batch not in checkpoint.commits and batch == planned(checkpoint):
            sink(batch, source[start_of(checkpoint, batch) : end])
            checkpoint.commit(batch)
            return
    batch = new_id(checkpoint)
    start = start_of(checkpoint, batch)
    checkpoint.plan(batch, len(source))
    sink(batch, source[start:])
    checkpoint.commit(batch)


@right("run_batch")
def plans_again_what_was_planned(checkpoint, source, sink):
    """The same entry once more does no harm."""
    done = max(checkpoint.commits, default=-1)
    batch, offsets = done + 1, checkpoint.offsets
    start, end = offsets.get(done, 0), offsets.get(batch, len(source))
    checkpoint.plan(batch, end)
    sink(batch, [source[i] for i in range(start, end)])
    checkpoint.commit(batch)


# --- task 2 --------------------------------------------------------------------------------------


@wrong("write", "appended")
def appends(disk, batch, rows):
    disk.append("out", rows)


@wrong("write", "appended")
def replaces_all_by_all_and_more(disk, batch, rows):
    old = disk.read("out") if "out" in disk.names() else []
    disk.write("_new", old + rows)
    disk.rename("_new", "out")


@wrong("write", "a new name at every attempt")
def names_a_file_by_chance(disk, batch, rows):
    name = uuid.uuid4().hex
    disk.write(f"_{name}", rows)
    disk.rename(f"_{name}", f"part-{name}")


@wrong("write", "a new name at every attempt")
def numbers_the_files(disk, batch, rows):
    number = len([name for name in disk.names() if name.startswith("part")])
    disk.write("_part", rows)
    disk.rename("_part", f"part-{number}")


@wrong("write", "written in place")
def writes_a_file_for_each_batch(disk, batch, rows):
    disk.write(f"batch-{batch}", rows)


@wrong("write", "written in place")
def writes_a_draft_that_can_be_seen(disk, batch, rows):
    disk.write(f"draft-{batch}", rows)
    disk.rename(f"draft-{batch}", f"batch-{batch}")


@wrong("write", "looked first, then appended")
def keeps_a_list_of_what_is_done(disk, batch, rows):
    done = disk.read("_done") if "_done" in disk.names() else []
    if str(batch) not in done:
        disk.append("out", rows)
        disk.append("_done", [str(batch)])


@wrong("write", "noted before it was written")
def keeps_a_list_of_what_is_begun(disk, batch, rows):
    begun = disk.read("_begun") if "_begun" in disk.names() else []
    if str(batch) not in begun:
        disk.append("_begun", [str(batch)])
        disk.append("out", rows)


@wrong("write", "equal rows taken for one")
def leaves_out_what_is_there(disk, batch, rows):
    for row in rows:
        if "out" not in disk.names() or row not in disk.read("out"):
            disk.append("out", [row])


@wrong("write", "equal rows taken for one")
def writes_a_set(disk, batch, rows):
    disk.write(f"_{batch}", set(rows))
    disk.rename(f"_{batch}", str(batch))


@wrong("write", "one name for all batches")
def replaces_what_was_there(disk, batch, rows):
    disk.write("_out", rows)
    disk.rename("_out", "out")


@right("write")
def only_if_it_is_not_there(disk, batch, rows):
    """What was renamed is whole, so it may be looked for; and a draft may have any name."""
    if f"batch {batch}" not in disk.names():
        draft = f"_{uuid.uuid4().hex}"
        disk.write(draft, [])
        for row in rows:
            disk.append(draft, [row])
        disk.rename(draft, f"batch {batch}")


@right("write")
def one_file_made_anew_of_hidden_parts(disk, batch, rows):
    disk.write(f"_part {batch}", rows)
    parts = [disk.read(f"_part {each}") for each in range(batch + 1)]
    disk.write("_all", [row for part in parts for row in part])
    disk.rename("_all", "all")
