"""The exercises by name: questions, reasons, known mistakes and hints, a file for each chapter."""

from . import causality, cuts, lattice, markers

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
        markers.MARKER_RULES,
    )
}
