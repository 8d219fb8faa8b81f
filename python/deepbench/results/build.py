"""Formats what the context of a result file states about the build that wrote it."""

from __future__ import annotations

from deepbench.json_types import JsonObject

_SHORT = 8  # digits of a revision that are shown


def version_text(context: JsonObject) -> str | None:
    """'deepbench 0.1.0', with the revision where it is recorded: 'deepbench 0.1.0 (1cfb0545,
    modified)'. None for published figures, which deepbench did not measure."""
    version = context.get("version")
    if version == "published":
        return None
    build = context.get("build")
    revision = revision_text(build if isinstance(build, dict) else {})
    return f"deepbench {version} ({revision})" if revision else f"deepbench {version}"


def revision_text(build: JsonObject) -> str | None:
    """'1cfb0545', or '1cfb0545, modified' of a build from changed sources; None: not recorded."""
    revision = build.get("revision")
    if not revision:
        return None
    return f"{str(revision)[:_SHORT]}{', modified' if build.get('modified') else ''}"
