"""Corrects words of a problem that are nearly right, such as 'M=64', '--m 64', 'm 64', 'm = 64',
'm=64,n=64', '64x64x64', 'cache=cold' or 'lstm'. The corrected command is only suggested and never
run: the meaning of a command must not depend on a guess."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from deepbench import suites
from deepbench.cli.backend_names import backend_by_name_or_synonym
from deepbench.cli.command import Option, option_for_synonym, parse_arguments
from deepbench.errors import UsageError, in_quotes
from deepbench.problems import problem_arguments
from deepbench.problems.selection import select

_ASSIGNMENT = re.compile(r"([A-Za-z_][\w-]*)[=:](.+)", re.DOTALL)
_BETWEEN = re.compile(r"[,;\s]+(?=[A-Za-z_]\w*\s*[=:])")
_SIZE = re.compile(r"\d+[KMG]?", re.IGNORECASE)
_BETWEEN_SIZES = re.compile(r"\s*[xX*,\s]\s*")
_AROUND_SIZES = "()[],"


def suggest_command(
    op: str, arguments: Sequence[str], options: Sequence[Option]
) -> UsageError | None:
    """An error that suggests the corrected command, or the error that the corrected command would
    raise. None if the words need no correction, or if they are invalid even when corrected."""
    found = _CommandRewriter(op, options)
    joined = _with_assignments_joined(arguments)
    changed = [word for word in joined if word not in arguments]
    found.wrong = changed[0] if changed else ""
    found.read([word.replace(" ", "") if word in changed else word for word in joined])
    if not found.wrong:
        return None
    try:
        line = parse_arguments(found.right, options)
        problem_arguments.parse_problem_arguments(op, line.words)
    except UsageError:
        return None
    try:
        select(op, line.words, line.has("--corrected"))
    except UsageError as error:
        return error
    command = shlex.join(["deepbench", op, *found.right])
    return UsageError(f"{in_quotes(found.wrong)} is not understood; write {command}")


class _CommandRewriter:
    """Rewrites the arguments of a command."""

    def __init__(self, op: str, options: Sequence[Option]) -> None:
        parameters = [
            key for known in problem_arguments.operations()
            if op in (problem_arguments.ALL, known.name)
            for key in known.parameters if op != problem_arguments.ALL or key.kind == "choice"
        ]  # fmt: skip
        self._op = op
        self._options = {name: option for option in options for name in option.opts}
        self.keys = {key.name: key for key in parameters}
        self._synonyms = {word: key.name for key in parameters for word in key.synonyms}
        self._sizes = [key.name for key in parameters if key.kind == "integer" and not key.default]
        self.right: list[str] = []
        self.wrong = ""  # the first argument that needs a correction

    def read(self, arguments: Sequence[str]) -> None:
        rest = list(arguments)
        while rest:
            argument = rest.pop(0)
            name, equals, value = argument.partition("=")
            if name in self._options:
                self.right.append(argument)
                if self._options[name].metavar and not equals and rest:
                    self.right.append(rest.pop(0))
            elif argument.startswith("-"):
                self._rewrite_option(argument, name.lstrip("-"), value, rest)
            elif (sizes := self._sizes_in(argument)) is not None:
                self._replace_argument(argument, *sizes)
            elif (
                sizes := self._sizes_in_separate_words([argument, *rest[: len(self._sizes) - 1]])
            ) is not None:
                del rest[: len(self._sizes) - 1]
                self._replace_argument(argument, *sizes)
            elif (
                rest
                and (key := self._key_named(argument))
                and self._is_possible_value(key, rest[0])
            ):
                self._replace_argument(argument, f"{key}={rest.pop(0)}")
            else:
                self._rewrite_word(argument)

    def _replace_argument(self, wrong: str, *right: str) -> None:
        self.wrong = self.wrong or wrong
        self.right += right

    def _rewrite_option(self, argument: str, name: str, value: str, rest: list[str]) -> None:
        """Rewrites an argument that looks like an option: '--m 64', '--half', '--training'."""
        key = self._key_named(name)
        if key is not None and (value or (rest and not rest[0].startswith("-"))):
            self._replace_argument(argument, f"{key}={value or rest.pop(0)}")
        elif name in ("set", "suite") and (value or rest):
            self._replace_argument(argument, value or rest.pop(0))
        elif not value and (self._is_word(name) or self._is_word(name.lower())):
            self._replace_argument(argument, name.lower())
        else:
            self.right.append(argument)

    def _rewrite_word(self, word: str) -> None:
        """Rewrites an argument that does not look like an option."""
        if self._is_word(word):
            self.right.append(word)
            return
        if (option := self._option_for(word)) is not None:
            self._replace_argument(word, *option)
            return
        parts = [part.rstrip(",;") for part in _BETWEEN.split(word)]
        right = [part for one in parts for part in self._assignments(one)]
        if right != [word]:
            self._replace_argument(word, *right)
        elif "--backend" in self._options and (backend := backend_by_name_or_synonym(word)):
            self._replace_argument(word, "--backend", backend)
        else:
            self.right.append(word)

    def _option_for(self, word: str) -> list[str] | None:
        """The option that a word stands for: 'quick', 'cold', 'cache=cold' or the name of a
        result file. For 'set=training' it is the set."""
        name, _, value = word.partition("=")
        if value and self._key_named(name) is None:
            option = self._options.get(f"--{name.lower().replace('_', '-')}")
            if option is not None and option.metavar:
                return [option.flag, value]
            return [value] if name in ("set", "suite") and suites.set_name(value) else None
        if word.endswith(".jsonl"):
            return ["-o", word]
        option = self._options.get(f"--{word.lower()}")
        if option is not None:
            return None if option.metavar else [option.flag]
        name, _, value = option_for_synonym(word, self._options).partition(" ")
        return [name, value] if value and value == value.lower() else None

    def _assignments(self, word: str) -> list[str]:
        """A word rewritten as KEY=VALUE words, or unchanged."""
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment is None:
            return [self._with_key_of_choice(word)]
        name, value = assignment.groups()
        both = [f"{name.lower()}_{side}" for side in ("w", "h")]  # pad=1 of conv
        if all(key in self.keys for key in both):
            return [f"{key}={value}" for key in both]
        key = self._key_named(name)
        if key is None:
            return [word]
        *more, last = value.lstrip("=").split("=")  # m=n=k=64
        equal = [self._key_named(name) for name in more]
        if None in equal:
            return [word]
        last = last.strip("[]()")
        return [f"{name}={last}" for name in (key, *equal)]

    def _key_named(self, name: str) -> str | None:
        """The key that a name stands for: m for M, trans_a for transA and trans-a."""
        lower = name.lower().replace("-", "_")
        lower = self._synonyms.get(lower, lower)
        if lower in self.keys:
            return lower
        plain = {key.replace("_", ""): key for key in self.keys}
        return plain.get(lower.replace("_", ""))

    def _with_key_of_choice(self, word: str) -> str:
        """A value with its key, if only one key accepts it (cell=lstm), or a list of precisions."""
        if "," in word and all(
            problem_arguments.precision_name(self._op, one) for one in word.split(",")
        ):
            return f"precision={word}"
        of = [key.name for key in self.keys.values() if word.lower() in key.choices]
        return f"{of[0]}={word.lower()}" if len(of) == 1 and of != ["precision"] else word

    def _sizes_in(self, word: str) -> list[str] | None:
        """The sizes of the operation in 64x64x64, (64,64,64) or shape=64x64x64, in their order."""
        name, _, value = word.rpartition("=")
        values = _BETWEEN_SIZES.split(value.strip(_AROUND_SIZES))
        return (
            self._as_size_assignments(values)
            if len(values) > 1 and self._key_named(name) is None
            else None
        )

    def _sizes_in_separate_words(self, words_of_sizes: Sequence[str]) -> list[str] | None:
        """The sizes of the operation in separate words: '64 64 64' or '[64, 64, 64]'."""
        return self._as_size_assignments([word.strip(_AROUND_SIZES) for word in words_of_sizes])

    def _is_possible_value(self, key: str, value: str) -> bool:
        """Whether a word can be the value of the key before it: 'm 64', 'trans_a t'."""
        if key == "precision":
            return problem_arguments.precision_name(self._op, value) is not None
        if self.keys[key].choices:
            return value.lower() in self.keys[key].choices
        return value[:1].isdigit() and "=" not in value

    def _as_size_assignments(self, values: Sequence[str]) -> list[str] | None:
        """The values as KEY=VALUE words, if they are as many as the operation has sizes."""
        if self._op == problem_arguments.ALL or len(values) != len(self._sizes):
            return None
        if not all(_SIZE.fullmatch(value) for value in values):
            return None
        return [f"{key}={value}" for key, value in zip(self._sizes, values, strict=True)]

    def _is_word(self, word: str) -> bool:
        return bool(suites.set_name(word) or problem_arguments.precision_name(self._op, word))


def _with_assignments_joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with each of 'm = 64', 'm= 64' and 'm =64' joined to one word."""
    joined: list[str] = []
    for argument in arguments:
        begun = joined[-1] if joined else "-"
        ends_open = begun[-1:] in ("=", ":") and "=" not in argument
        continues = ends_open or (argument.startswith("=") and "=" not in begun)
        if continues and not begun.startswith("-"):
            joined[-1] += f" {argument}"
        else:
            joined.append(argument)
    return joined
