"""All mutations. Only this list says which rules were broken: one that is missing here was not proven."""

from __future__ import annotations

from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.of_faults_found import FAULTS_FOUND
from tests.simulation.mutations.of_fronts import FRONTS
from tests.simulation.mutations.of_owners import OWNERS
from tests.simulation.mutations.of_runs import RUNS
from tests.simulation.mutations.of_sessions import SESSIONS
from tests.simulation.mutations.of_sets import SETS
from tests.simulation.mutations.of_voters import VOTERS

MUTATIONS: tuple[Mutation, ...] = (*VOTERS, *OWNERS, *SETS, *SESSIONS, *RUNS, *FRONTS, *FAULTS_FOUND)
