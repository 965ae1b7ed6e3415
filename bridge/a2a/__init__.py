"""What A2A means for a handoff: where ids and states stand, how events fold, how a re-run is reconciled."""
