"""Hook of mkdocs: gives the theme's search dialog the name that it lacks, for screen readers."""

from __future__ import annotations

_DIALOG = '<div class="md-search" data-md-component="search" role="dialog"'


def on_post_page(output: str, **_: object) -> str:
    """Returns the page with the name."""
    if _DIALOG not in output:
        raise ValueError(f"the theme has another search dialog than {_DIALOG}")
    return output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"')
