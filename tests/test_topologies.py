"""Topologies: the graphs that they are called after."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from chandylamport import both_ways, complete, line, ring, star, strongly_connected

some_processes = st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=6, unique=True)


def neighbours(channels):
    graph = nx.DiGraph()
    graph.add_edges_from(channels)
    assert len(channels) == graph.number_of_edges()  # none is there twice
    return graph


@given(some_processes)
def test_in_a_complete_network_everybody_reaches_everybody_in_one_step(names):
    graph = neighbours(complete(names))
    assert set(graph) == set(names)
    assert graph.number_of_edges() == len(names) * (len(names) - 1)
    assert nx.number_of_selfloops(graph) == 0


@given(some_processes)
def test_a_ring_is_one_cycle_through_everybody(names):
    graph = neighbours(ring(names))
    assert nx.is_isomorphic(graph, nx.cycle_graph(len(names), nx.DiGraph))
    assert list(graph.successors(names[-1])) == [names[0]]


@given(some_processes)
def test_a_line_leads_from_the_first_to_the_last_and_not_back(names):
    graph = neighbours(line(names))
    assert nx.shortest_path(graph, names[0], names[-1]) == names
    assert not nx.has_path(graph, names[-1], names[0])


@given(some_processes)
def test_in_a_star_all_ways_lead_through_the_first(names):
    graph = neighbours(star(names))
    assert nx.is_strongly_connected(graph)
    graph.remove_node(names[0])
    assert graph.number_of_edges() == 0


@given(some_processes)
def test_both_ways_adds_the_way_back_and_nothing_else(names):
    there = line(names)
    graph = neighbours(both_ways(there))
    assert set(graph.edges) == {*there, *((c.dst, c.src) for c in there)}


@given(some_processes, st.integers(0, 40), st.integers(0, 5))
def test_strongly_connected_is_what_it_says_with_some_channels_more(names, extra, seed):
    graph = neighbours(strongly_connected(names, extra=extra, seed=seed))
    assert set(graph) == set(names)
    assert nx.is_strongly_connected(graph)
    most = len(names) * (len(names) - 1)
    assert graph.number_of_edges() == min(len(names) + extra, most)


def test_the_same_seed_gives_the_same_channels():
    first, again, other = (strongly_connected("pqrst", extra=3, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != other
