"""Sidecars among each other: how they talk, and how a quorum of them keeps a journal.

``codec`` and ``frames`` say what travels, ``sealing`` who may say it, ``link`` and ``port`` are the two ends of a
connection. ``quorum`` is a ``ports.Voter`` over several voters, ``sessions`` what is heard of other sidecars.
"""
