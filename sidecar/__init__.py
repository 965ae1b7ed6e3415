"""The process beside an A2A agent: sockets, disk, timers, and nothing that could be a rule."""

__version__ = "0.1.0"
