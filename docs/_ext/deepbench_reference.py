"""Sphinx directives that generate the reference from code, schema and headers."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "src" / "cpp" / "deepbench"


class MarkdownDirective(SphinxDirective):
    """Parses the Markdown that `markdown()` returns in place of the directive."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True

    def markdown(self) -> str:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        container = nodes.Element()
        lines = StringList(self.markdown().splitlines(), source=self.__class__.__name__)
        self.state.nested_parse(lines, self.content_offset, container)
        return container.children


def help_text(words: list[str]) -> str:
    """What `deepbench WORDS --help` prints."""
    from deepbench.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    text = printed.getvalue().strip()
    if not text:
        raise ValueError(f"deepbench {' '.join(words)} --help prints nothing")
    return text


class CommandHelp(SphinxDirective):
    """The help text of a command, as the terminal shows it."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        text = help_text(self.arguments[0].split() if self.arguments else [])
        return [nodes.literal_block(text, text, language="text")]


def markdown_table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def attribute_range(parameter: Any) -> str:
    if parameter.kind == "choice":
        return " ".join(f"`{choice}`" for choice in parameter.choices)
    if parameter.maximum is None:
        return f"at least {parameter.minimum}"
    return f"{parameter.minimum} to {parameter.maximum:,}"


def default_of(parameter: Any) -> str:
    if parameter.default is None:
        return "required"
    if parameter.name == "precision":
        return f"the backend's for this operation and set, else `{parameter.default}`"
    return f"`{parameter.default}`"


class Attributes(MarkdownDirective):
    """The attributes of an operation, from its specification in the core."""

    required_arguments = 1

    def markdown(self) -> str:
        from deepbench import _core

        (operation,) = [op for op in _core.operations() if op.name == self.arguments[0]]
        rows = []
        for parameter in operation.parameters:
            default = default_of(parameter)
            rows.append(
                [f"`{parameter.name}`", parameter.help, attribute_range(parameter), default]
            )
        heading = ["attribute", "meaning", "values", "default"]
        return f"{markdown_table(heading, rows)}\n\nExample: `deepbench {operation.example}`"


class ModelCoverage(MarkdownDirective):
    """The share of each model's work that operations measure, from the model files."""

    optional_arguments = 0

    def markdown(self) -> str:
        from model_coverage import coverage_table  # of benchmarks/

        return str(coverage_table())


def type_name(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return {"text": "text", "flag": "true or false"}.get(name, name)
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(word)}`" for word in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    kind = schema.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else [word for word in kind if word != "null"]
    if kinds == ["array"] and "items" in schema:
        return f"list of {type_name(schema['items'], definitions)}"
    return " or ".join(kinds)


class RowSchema(MarkdownDirective):
    """The keys of a part of schema.json: `context`, `row` or `ceiling`."""

    required_arguments = 1

    def markdown(self) -> str:
        document = json.loads(
            (ROOT / "python" / "deepbench" / "results" / "schema.json").read_text(encoding="utf-8")
        )
        self.definitions = document["$defs"]
        part = self.definitions[self.arguments[0]]
        rows: list[list[str]] = []
        self.collect(part, "", rows)
        return markdown_table(["key", "type", "meaning"], rows)

    def collect(self, schema: dict[str, Any], prefix: str, rows: list[list[str]]) -> None:
        required = schema.get("required", ()) if not prefix else ()
        for name, value in schema.get("properties", {}).items():
            meaning = value.get("description", "")
            if name in required:
                meaning = f"{meaning} Required.".strip()
            rows.append([f"`{prefix}{name}`", type_name(value, self.definitions), meaning])
            inner = value
            if "$ref" in value:
                inner = self.definitions[value["$ref"].rpartition("/")[2]]
            self.collect(inner, f"{prefix}{name}.", rows)
            self.collect(inner.get("items", {}), f"{prefix}{name}[].", rows)
            extra = inner.get("additionalProperties")
            if isinstance(extra, dict):
                self.collect(extra, f"{prefix}{name}.NAME.", rows)


def declared_compounds(xml: Path, header: str) -> list[tuple[str, str]]:
    """The structs and classes that a header declares, as ("struct" or "class", name)."""
    found = []
    for entry in ElementTree.parse(xml / "index.xml").getroot().iter("compound"):
        kind = entry.get("kind")
        if kind in ("struct", "class"):
            compound = ElementTree.parse(xml / f"{entry.get('refid')}.xml").getroot()
            place = compound.find("compounddef/location")
            if place is not None and Path(str(place.get("file"))).name == header:
                found.append((int(str(place.get("line"))), kind, str(entry.findtext("name"))))
    return [(kind, name) for _, kind, name in sorted(found)]


class Header(SphinxDirective):
    """A public header: breathe's documentation where doxygen is present, else its source."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if has_doxygen():
            lines = [
                f".. doxygenfile:: {name}",
                "   :project: deepbench",
                "   :sections: briefdescription detaileddescription enum func define",
                "",
            ]
            for kind, found in declared_compounds(
                Path(self.config.breathe_projects["deepbench"]), name
            ):
                lines += [
                    f".. doxygen{kind}:: {found}",
                    "   :project: deepbench",
                    "   :members:",
                    "",
                ]
            text = "```{eval-rst}\n" + "\n".join(lines) + "\n```"
        else:
            text = f"```{{literalinclude}} {self.relative(HEADERS / name)}\n:language: c\n```"
        container = nodes.Element()
        self.state.nested_parse(StringList(text.splitlines(), source=name), 0, container)
        return container.children

    def relative(self, path: Path) -> str:
        import os

        return os.path.relpath(path, Path(self.get_source_info()[0]).parent)


def has_doxygen() -> bool:
    return shutil.which("doxygen") is not None


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("deepbench-help", CommandHelp)
    app.add_directive("deepbench-attributes", Attributes)
    app.add_directive("deepbench-coverage", ModelCoverage)
    app.add_directive("deepbench-schema", RowSchema)
    app.add_directive("deepbench-header", Header)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
