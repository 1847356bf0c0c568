"""The exercises by name: questions, reasons, known mistakes and hints, a file for each chapter."""

from . import (
    audits,
    barriers,
    causality,
    colours,
    cuts,
    detection,
    ids,
    lattice,
    markers,
    proof,
    recovery,
    runs,
    streams,
    termination,
)

EXERCISES = {
    exercise.name: exercise
    for exercise in (
        causality.HAPPENS_BEFORE,
        causality.CONCURRENT,
        cuts.IS_CONSISTENT,
        cuts.CHANNEL_STATE,
        lattice.COUNT,
        lattice.POSSIBLY,
        lattice.DEFINITELY,
        runs.PREDICT,
        markers.MARKER_RULES,
        termination.WILL_COMPLETE,
        termination.IS_COMPLETE,
        termination.COST,
        runs.BREAK_IT,
        ids.SNAPSHOTS,
        proof.OCCURRED_AT,
        proof.PASS_BY,
        proof.REORDER,
        colours.COLOURS,
        colours.COLLECTOR,
        detection.DEADLOCKED,
        detection.MEANING,
        barriers.ALIGNED,
        barriers.UNALIGNED,
        barriers.REPLAYED,
        recovery.RECOVER,
        recovery.SINK,
        barriers.CYCLIC,
        streams.RUN_BATCH,
        streams.WRITE,
        audits.AUDIT,
    )
}
