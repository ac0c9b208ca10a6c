# SPDX-License-Identifier: Apache-2.0
"""Invalid safetensors files, configurations of models, and settings of runs."""
import json
import os
import struct

NAN = float("nan")
NUMBERS = (0, -1, 1, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 1e308, 1.5, -0.5, "x", None, [], {}, True)
CONFIG = {"model_type": "llama", "vocab_size": 256, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "tie_word_embeddings": False, "max_position_embeddings": 256}


def file_of(header, data=b"\x00" * 64):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(4, 4), offsets=(0, 64), **more):
    return dict({"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}, **more)


def tensor_files():
    yield "right", file_of({"a": entry()})
    for size in (0, 1, 7, 8, 9, 20, 60):
        yield f"cut at {size}", file_of({"a": entry()})[:size]
    for length in (0, 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1, 100_000_001):
        yield f"header of {length}", struct.pack("<Q", length) + b"{}" + bytes(64)
    for at, text in enumerate((b"", b"null", b"[]", b"3", b'"x"', b"{", b"{}", b"[" * 100_000, b'{"a":' * 50_000,
                               b'{"a": null}', b'{"a": []}', b'{"a": {}}', b"\xff\xfe", b'{"\xff": 1}',
                               b'{"a": {"dtype": 3}}', b'{"a": {"dtype": "F32"}}', b"{}" + b" " * 1000, b"{} x",
                               b'{"__metadata__": 3}', b'{"__metadata__": {"a": 3}}', b'{"__metadata__": {"a": "b"}}',
                               b'{"\\u0000": {}}', b'{"a": {"dtype": "\\ud800"}}', b'{"a": {"dtype": "\\u001b[2J"}}')):
        yield f"header text {at}", file_of(text)
    for at, dtype in enumerate(("F8", "", "f32", "U64", "F64", "I8", "BOOL", "C64", "x" * 100_000, None, 3, ["F32"])):
        yield f"dtype {at}", file_of({"a": entry(dtype=dtype)})
    for at, number in enumerate(NUMBERS):
        yield f"extent {at}", file_of({"a": dict(entry(), shape=[number, 4])})
        yield f"extent {at} with 0", file_of({"a": dict(entry(offsets=(0, 0)), shape=[0, number])})
        yield f"begin {at}", file_of({"a": dict(entry(), data_offsets=[number, 64])})
        yield f"end {at}", file_of({"a": dict(entry(), data_offsets=[0, number])})
        yield f"shape {at}", file_of({"a": dict(entry(), shape=number)})
        yield f"offsets {at}", file_of({"a": dict(entry(), data_offsets=number)})
    for name, offsets in (("turned", (64, 0)), ("beyond", (0, 65)), ("none", ()), ("one", (0,)), ("three", (0, 64, 9))):
        yield f"offsets {name}", file_of({"a": entry(offsets=offsets)})
    yield "overlap", file_of({"a": entry(), "b": entry()})
    yield "holes", file_of({"a": entry(shape=(1,), offsets=(60, 64))})
    yield "scalar", file_of({"a": entry(shape=(), offsets=(0, 4))})
    yield "1000 dimensions", file_of({"a": entry(shape=(1,) * 1000, offsets=(0, 4))})
    yield "2^20 squared", file_of({"a": entry(shape=(2**20,) * 4)})
    yield "many", file_of({f"t{i}": entry(shape=(0,), offsets=(0, 0)) for i in range(20_000)})
    yield "the same name", file_of(b'{"a": %s, "a": %s}' % ((json.dumps(entry()).encode(),) * 2))


def model_files():
    yield "right", json.dumps(CONFIG).encode()
    for field in CONFIG:
        without = {k: v for k, v in CONFIG.items() if k != field}
        yield f"without {field}", json.dumps(without).encode()
    for field in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                  "num_key_value_heads", "head_dim", "tie_word_embeddings"):
        for at, number in enumerate(NUMBERS):
            yield f"{field} {at}", json.dumps(dict(CONFIG, **{field: number})).encode()
    for at, text in enumerate((b"", b"null", b"[]", b"{", b"[" * 200_000, b"\xff", b'{"rope_scaling":' * 100_000,
                               b"{}", b'{"vocab_size": NaN}', b"\xef\xbb\xbf{}", b" " * 1_000_000, b"1e999")):
        yield f"text {at}", text


def settings_files():
    for field in ("dp", "tp", "cp", "ulysses", "steps", "batch", "seq_len", "seed", "lr", "dropout", "window", "cores"):
        for at, number in enumerate(NUMBERS):
            yield f"{field} {at}", json.dumps({field: number}).encode()
    for at, document in enumerate(({"strategy": "ringg"}, {"strategy": 3}, {"balance": "x"}, {"nothing": 1}, {"": 1},
                                   {"text": "x"}, {"text": [1]}, {"model": []}, {"model": {"layers": "x"}}, [], None,
                                   {"\x1b[2J": 1}, {"strategy": "\x1b[2J"}, {"x" * 100_000: 1})):
        yield f"document {at}", json.dumps(document).encode()
    yield "deep", b'{"model":' * 100_000


def written(name, content):
    def make(folder):
        (folder / name).write_bytes(content)
    return make


def cases():
    for action, name, files in (("tensors", "case.safetensors", tensor_files), ("model", "config.json", model_files),
                                ("settings", "settings.json", settings_files)):
        job = [action, "." if action == "model" else name]
        for case, content in files():
            yield f"{action} {case}", written(name, content), [job]
        for what, make in (("pipe", os.mkfifo), ("folder", os.mkdir), ("missing", lambda path: None)):
            yield f"{action} {what}", lambda folder, m=make, n=name: m(folder / n), [job]
