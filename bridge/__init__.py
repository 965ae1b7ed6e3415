"""The pure meaning of "an A2A task is a durable handoff": data, rules and state machines.

Nothing here does I/O, reads a clock, draws a random number or awaits: rules are data in, data out.
"""
