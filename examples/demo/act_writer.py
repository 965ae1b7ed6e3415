"""Act 2: an agent that knows nothing of durability is killed halfway; its text has no gap and no repetition."""

from __future__ import annotations

import hashlib
from typing import Final

from examples.demo import client
from examples.demo.cast import Cast, enter
from examples.demo.client import Seen
from examples.demo.ledger import read_journal
from examples.demo.stage import Stage
from examples.demo.takeover import Piece, Scene, play

TITLE: Final = "Act 2 — slow_writer: no checkpoints, no extension, killed in the middle of a sentence"
STORY: Final = "The standby begins again; what the client already has is recognised and not shown twice."
PACE_S: Final = 0.025
TEXT: Final = "story"
ASKED: Final = "Tell me a story."


def cast(stage: Stage) -> Cast:
    """Two writers, and the same agent without a sidecar, not killed: it says what the text should be."""
    undisturbed = stage.agent("undisturbed writer", "slow_writer", "--pace", "0")
    return enter(stage, "slow_writer", "writers", "--pace", str(PACE_S), beside=undisturbed)


async def run(scene: Scene) -> None:
    """Play the act."""
    undisturbed = scene.cast.beside
    assert undisturbed is not None
    await scene.stage.ready(undisturbed)
    whole = Seen()
    await client.stream(undisturbed.url, ASKED, whole)
    wanted, chunks = whole.texts[TEXT], whole.chunks[TEXT]

    def progress(seen: Seen) -> None:
        text = " ".join(seen.texts.get(TEXT, "").split())
        done = min(len(seen.texts.get(TEXT, "")), len(wanted))
        scene.display.progress(done, len(wanted), "characters", text)

    await play(scene, Piece(ASKED, lambda seen: seen.chunks.get(TEXT, 0) >= chunks // 2, progress))
    text = scene.seen.texts.get(TEXT, "")
    scene.act.facts |= {
        "characters": len(text),
        "characters_at_kill": sum(len(word) + 1 for word in wanted.split()[: chunks // 2]),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "sha256_uninterrupted": hashlib.sha256(wanted.encode()).hexdigest(),
    }
    facts = scene.act.facts
    scene.act.check(
        "the text equals an uninterrupted run's: no gap, no repetition",
        scene.seen.completed and text == wanted,
        f"{len(text)} characters, the kill came after {facts['characters_at_kill']}; "
        f"sha256 {facts['sha256'][:16]}… (uninterrupted: {facts['sha256_uninterrupted'][:16]}…)",
    )
    journal = await read_journal(scene)
    scene.act.check(
        "nothing that the client had was replaced",
        scene.seen.completed and scene.seen.replaced == 0 and journal.get("rewound") == 0,
        f"{scene.seen.replaced} replacements, {journal.get('rewound', '?')} rewound entries",
    )
