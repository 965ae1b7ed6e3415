"""What clients saw: ``sidecar.testing.recording`` under the name by which tests know it."""

from sidecar.testing.recording import Frame, Json, Recording, from_raw, from_sdk

__all__ = ["Frame", "Json", "Recording", "from_raw", "from_sdk"]
