"""What ``--help`` says of commands that need more words than a line. Text only: help needs no library.

The failure it prevents: a column of a table that nobody can look up.
"""

from __future__ import annotations

CLUSTER = """\
What a running sidecar with --peers knows of its cluster. It is asked at its control port, so ask on its host."""

CLUSTER_SHOW = """\
Prints what the sidecar on this host knows of its cluster:

  members   who may vote: their sidecars, the beginning of each voter's id (its file's), the version of the member
            list that each holds, where they are, and whether they are reached; if not, why not
  sidecars  who is there: when it was last heard of, whether it takes new work (ready), hands over what it has
            (draining) or waits for its agent; sessions that are over are left out unless --all is given
  owners    how many unfinished tasks each has by this host's file: at work, or waiting for a client or an operator

Every host has its own view: where two differ, ask each of them."""

CLUSTER_SHOW_EXAMPLES = """\
examples:
  dhp-sidecar cluster show                             the sidecar with the default control port
  dhp-sidecar cluster show --control-port 8482         another one on this host
  dhp-sidecar cluster show --json | jq .wrong          what is wrong, for a program

exit codes: 0 formed and everybody is reached, 1 something is not well (the last lines say what),
2 usage, or no sidecar with peers answers there"""
