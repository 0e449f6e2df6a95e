from __future__ import annotations

import pytest

from tests.world.word_embedder import WordEmbedder


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()
