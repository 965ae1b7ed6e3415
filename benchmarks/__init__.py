"""What the sidecar costs and how fast it takes over, measured beside the direct agent: ``make bench``."""
