"""Snapshots as values, and when local parts make a whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chandylamport import Channel, LocalSnapshot, Snapshot, assemble, complete
from chandylamport.recorder import still_owed

NAMES = "pqr"
CHANNELS = complete(NAMES)
states = st.fixed_dictionaries({name: st.integers(0, 3) for name in NAMES})
contents = st.dictionaries(
    st.sampled_from(CHANNELS), st.lists(st.sampled_from("mn"), max_size=2).map(tuple)
)


@st.composite
def parts(draw):
    """Each process's part, with any numbers owed under any names."""
    held, state = draw(contents), draw(states)
    owed = st.dictionaries(st.sampled_from(CHANNELS), st.integers(-2, 2))
    return {
        name: LocalSnapshot(
            state[name], {c: m for c, m in held.items() if c.dst == name}, draw(owed)
        )
        for name in NAMES
    }


def settled(all_parts):
    """The same parts, with the last process owing what makes the sums zero."""
    *others, last = all_parts
    owed = {c: -sum(all_parts[p].owed.get(c, 0) for p in others) for c in CHANNELS}
    part = all_parts[last]
    return {**all_parts, last: LocalSnapshot(part.state, part.channels, owed)}


@given(states, contents)
def test_a_channel_reads_as_it_was_recorded_and_as_empty_if_it_was_not(s, held):
    snapshot = Snapshot(s, held)
    assert all(snapshot.channels[c] == held.get(c, ()) for c in CHANNELS)
    assert snapshot.channels["q", "nobody"] == ()
    assert () not in snapshot.channels.values()  # and reading has added nothing


@given(states, contents)
def test_naming_empty_channels_makes_no_difference(s, held):
    named, bare = Snapshot(s, dict.fromkeys(CHANNELS, ()) | held), Snapshot(s, held)
    assert named == bare
    assert hash(named) == hash(bare)
    assert repr(named) == repr(bare)


@given(states, contents)
def test_the_order_of_naming_makes_no_difference(s, held):
    def backwards(mapping):
        return dict(reversed(mapping.items()))

    one, other = Snapshot(s, held), Snapshot(backwards(s), backwards(held))
    assert one == other
    assert len({one, other}) == 1


@given(states, contents, states, contents)
def test_snapshots_are_equal_exactly_if_states_and_messages_are(s, held, t, others):
    same = s == t and all(held.get(c, ()) == others.get(c, ()) for c in CHANNELS)
    assert (Snapshot(s, held) == Snapshot(t, others)) is same


@given(states, contents)
def test_a_snapshot_does_not_change_with_what_it_was_made_of(s, held):
    snapshot, before = Snapshot(s, held), Snapshot(dict(s), dict(held))
    s["p"], held[CHANNELS[0]] = "changed", ("late",)
    assert snapshot == before


def test_channels_can_be_asked_for_by_pairs():
    snapshot = Snapshot({"p": 0, "q": 0}, {("p", "q"): ["m"]})
    assert snapshot.channels["p", "q"] == snapshot.channels[Channel("p", "q")] == ("m",)


@given(parts())
def test_parts_make_a_whole_exactly_if_nothing_is_owed_in_sum(given_parts):
    sums = [sum(part.owed.get(c, 0) for part in given_parts.values()) for c in CHANNELS]
    assert (assemble(given_parts) is None) is any(sums)


@given(parts())
def test_the_whole_has_each_state_and_each_channel_of_its_receiver(given_parts):
    whole = assemble(settled(given_parts))
    assert whole.states == {name: part.state for name, part in given_parts.items()}
    for channel in CHANNELS:
        assert whole.channels[channel] == given_parts[channel.dst].channels.get(channel, ())


@given(parts(), st.sampled_from(NAMES))
def test_without_one_part_there_is_no_whole(given_parts, missing):
    assert assemble({**settled(given_parts), missing: None}) is None


def test_what_one_channel_owes_is_not_paid_by_another():
    pq, qp = Channel("p", "q"), Channel("q", "p")
    owing = {"p": LocalSnapshot(0, {}, {pq: 1}), "q": LocalSnapshot(0, {}, {qp: -1})}
    assert assemble(owing) is None
    assert assemble({"p": owing["p"], "q": LocalSnapshot(0, {pq: ("m",)}, {pq: -1})}) is not None


@given(parts())
def test_what_is_still_owed_is_the_sum_under_each_name_where_it_is_not_zero(all_parts):
    sums = {c: sum(part.owed.get(c, 0) for part in all_parts.values()) for c in CHANNELS}
    left = still_owed(part.owed for part in all_parts.values())
    assert left == {c: number for c, number in sums.items() if number}
