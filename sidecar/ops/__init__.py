"""What operators see of a sidecar: logs, metrics, health, and journals as people read them."""
