"""Who is there, who owns what: SWIM with Lifeguard, as rules. A hint for whoever asks; no fence stands on it."""
