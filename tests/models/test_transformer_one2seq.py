from __future__ import annotations

import pytest

from keywright.models import transformer_one2seq


def test_a_width_that_heads_cannot_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="multiple of 7 heads"):
        transformer_one2seq.Config(heads=7)
