"""Values of keys of a spec, as `check --cells` proposes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable


def mapping_text(pairs: Iterable[tuple[str, str]]) -> str:
    """A mapping of YAML on one line; the values are YAML already."""
    return f"{{{', '.join(f'{yaml_text(text)}: {value}' for text, value in pairs)}}}"


def list_text(texts: Iterable[str]) -> str:
    """A list of texts in YAML, or the only one of them."""
    quoted = [yaml_text(text) for text in texts]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def yaml_text(text: str) -> str:
    """A text as a scalar of YAML, between quotes if it needs them."""
    is_plain = re.fullmatch(r"[A-Za-z0-9]([\w ./]*[\w.])?", text) is not None
    return text if is_plain else json.dumps(text, ensure_ascii=False)
