"""Model files: what is read, and one line for every file that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbench.workload import model_file
from deepbench.workload.model_file import ModelError, from_bytes, read
from model_files import LAYER, model_text


def error_of(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(ModelError) as error:
        from_bytes(data, "mine.toml", "mine")
    message = str(error.value)
    assert message.startswith("mine.toml: ")
    assert message.isprintable()
    return message


def test_a_model_is_read() -> None:
    model = from_bytes(model_text().encode(), "mine.toml", "mine")
    assert (model.name, model.title, model.batch_unit) == ("mine", "Mine", "sequences")
    assert model.phases == ("prefill", "decode")
    assert list(model.parameters_of("prefill")) == ["batch", "seq", "tp"]
    assert list(model.parameters_of("decode")) == ["batch", "tp"]
    assert model.parameters["tp"].values == (1, 2)
    assert model.unit("prefill") == "sequences"
    assert model.unit("decode") == "tokens"


def test_a_key_for_two_sizes() -> None:
    layer = LAYER | {"op": '"conv"', "c": 3, "h": 8, "w": 8, "k": 4, "filter": 3, "pad": '"1"'}
    for key in ("tokens", "in", "out"):
        del layer[key]
    [read_layer] = from_bytes(model_text(layers=[layer]).encode(), "", "").layers
    assert read_layer.sizes == {"c": 3, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3, "pad_h": "1",
                                "pad_w": "1"}  # fmt: skip
    twice = model_text(layers=[layer | {"pad_h": 1}])
    assert "pad and pad_h are both given" in error_of(twice)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('title = "Mine"', "", "has no title"),
        ('title = "Mine"', 'titel = "Mine"', "there is no key 'titel' (did you mean 'title'?)"),
        ('title = "Mine"', "title = 3", "title: must be a printable text"),
        ('title = "Mine"', 'title = "\\u001b[31m"', "title: must be a printable text"),
        ('title = "Mine"', f'title = "{"x" * 500}"', "title: is longer than 400 characters"),
        ('title = "Mine"', "title = ", "is not valid TOML"),
        ('["prefill", "decode"]', '["prefill", "fly"]', "phases: must be a list of some of"),
        ('["prefill", "decode"]', "[]", "phases: must be a list of some of"),
        ('["prefill", "decode"]', '["decode", "decode"]', "each once"),
        ("[parameters.batch]", "[parameters.bach]", "there is no key 'bach' (did you mean"),
        ("default = 4", "default = 0", "[parameters.batch]: default: must be numbers from 1"),
        ("default = 4", "default = 4.5", "[parameters.batch]: default: must be numbers from 1"),
        ("default = 4", "default = true", "[parameters.batch]: default: must be numbers from 1"),
        ("default = 4", "default = 400", "the default, 400, must be from 1 to 64"),
        ("default = 4", "", "[parameters.batch]: has no default"),
        ("default = 4", "default = 4\nphases = ['decode']", "batch is a parameter of all phases"),
        ("values = [1, 2]", "values = []", "[parameters.tp]: values: must be numbers from 1"),
        ("values = [1, 2]", "values = [1, 2]\ndefault = 1", "there is no key 'default'"),
        ("hidden = 64", "tp = 64", "tp is a parameter and cannot be a constant"),
        ("hidden = 64", "min = 64", "'min' cannot be a name"),
        ("hidden = 64", '"a b" = 64', "'a b' cannot be a name"),
        ("hidden = 64", "or = 64", "'or' cannot be a name"),
        ("hidden = 64", "hidden = 6.5", "hidden: must be an integer or a text"),
        ("hidden = 64", "hidden = false", "hidden: must be an integer or a text"),
        ("hidden = 64", "hidden = 2026-01-01", "hidden: must be an integer or a text"),
        ("hidden = 64", "[constants.hidden]\na = 1", "hidden: must be an integer or a text"),
        ("[phase_constants.decode]", "[phase_constants.fly]", "there is no key 'fly'"),
        ('op = "linear"', 'op = "liner"', "there is no op 'liner' (did you mean 'linear'?)"),
        ('op = "linear"', "", "op: must be a printable text"),
        ('name = "one"', "", "layer 1: name: must be a printable text"),
        ('kind = "product"', "", "layer 'one': has no kind"),
        ('tokens = "tokens"', "", "layer 'one': has no tokens"),
        ('tokens = "tokens"', "token = 3", "there is no key 'token' (did you mean 'tokens'?)"),
        ("in = ", "count = 0\nin = ", "layer 'one': count is 0; leave the layer out"),
        ("in = ", "count = 1.5\nin = ", "count: must be an integer or a text"),
        ("in = ", "input_gradient = 0\nin = ", "input_gradient: must be true or false"),
        ("in = ", 'phases = ["train"]\nin = ', "phases: must be a list of some of prefill decode"),
        ("in = ", "in = 4\nin = ", "is not valid TOML"),
        ("in = ", 'norm = "bath"\nin = ', "norm is 'bath' (did you mean 'batch'?); it must be one"),
        ("in = ", 'norm = "layer"\nin = ', "norm is 'layer'; it must be one of batch frozen"),
        ("in = ", "residual = 1\nin = ", "residual: must be true or false"),
    ],
)
def test_mistakes(old: str, new: str, reason: str) -> None:
    text = model_text()
    assert old in text
    assert reason in error_of(text.replace(old, new, 1))


def test_a_word_sets_no_other_attribute() -> None:
    layer = {"name": '"one"', "kind": '"cell"', "op": '"rnn"', "hidden": 8, "steps": 2}
    assert "cell is 'lstm precision=half'; it must be a name" in error_of(
        model_text([{**layer, "cell": '"lstm precision=half"'}])
    )


def test_two_layers_of_one_name() -> None:
    assert "two layers have the name 'one'" in error_of(model_text(layers=[LAYER, LAYER]))


def test_no_layers() -> None:
    assert "has no [[layers]]" in error_of("layers = []\n" + model_text(layers=[]))
    assert "has no layers" in error_of(model_text(layers=[]))


def test_a_million_layers() -> None:
    text = model_text(layers=[]).encode()
    assert "at most 10,000" in error_of(text + b"\n[[layers]]" * 20_000)
    file = text + b"[[layers]]\n" * 1_000_000
    assert len(file) > 1 << 20  # more than read() takes


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"\0", "is not valid TOML"),
        (b"{", "is not valid TOML"),
        (b"a = 9" + b"9" * 5000, "a line of more than 4,096 bytes"),
        (b"a = " + b"9" * 4000, "there is no key 'a'"),
        (b"a = " + b"[\n" * 50_000, "is nested too deeply"),
        (b"a = " + b"{ a = " * 600, "is n"),
        (b"a" + b".a" * 100 + b" = 1", "there is no key 'a'"),
        (b"a" + b".a" * 2000 + b" = 1", "has a line of more than 100 dots"),
        (b"[" + b"a." * 2000 + b"a]", "has a line of more than 100 dots"),
        (b"a.a = 1\n" * 60_000, "has 60,000 dots; a model file has at most 50,000"),
        (b"", "has no title"),
        (b"{" * 4000, "is not valid TOML"),
    ],
)
def test_files_that_are_no_model(data: bytes, reason: str) -> None:
    assert reason in error_of(data)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    large.write_bytes(b"# \n" * (1 << 19))
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for path, reason in (
        (tmp_path / "absent.toml", "there is no such file"),
        (tmp_path, "cannot be read (Is a directory)"),
        (large, "is too large; a model file has at most 1 MiB"),
        (pipe, "is not a regular file"),
        ("a\0b", "cannot be the name of a file"),
    ):
        with pytest.raises(ModelError) as error:
            read(str(path))
        assert reason in str(error.value)


def test_unknown_name_of_a_model() -> None:
    with pytest.raises(ModelError) as error:
        model_file.builtin("resnet5")
    assert "there is no workload 'resnet5' (did you mean 'resnet50'?)" in str(error.value)
    for name in ("../workloads/resnet50", "a" * 5000, "a\0b", ".", ""):
        with pytest.raises(ModelError):
            model_file.builtin(name)


def test_every_file_of_the_package_has_a_name_that_is_found() -> None:
    assert model_file.available()
    assert [model_file.builtin(name).name for name in model_file.available()] == (
        model_file.available()
    )


@settings(max_examples=300)
@given(st.data())
def test_a_changed_file_is_read_or_refused(data: st.DataObject) -> None:
    text = bytearray(model_text().encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        text[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    assert error_or_nothing(bytes(text)).isprintable()


def error_or_nothing(data: bytes) -> str:
    try:
        from_bytes(data, "mine.toml", "mine")
    except ModelError as error:
        return str(error)
    return ""
