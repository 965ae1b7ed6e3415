"""Agents to run and read, and the demo that kills them."""
