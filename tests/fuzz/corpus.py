#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzzers start from into a folder: right inputs, by the writers of tests/hostile."""
import gzip
import json
import pickle
import sqlite3
import struct
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "hostile"))


import cases_frames  # noqa: E402
import cases_tensors  # noqa: E402
from format_table import Format  # noqa: E402
from sample import sample  # noqa: E402


def recordings():
    """Two ranks' lines of small real recordings: the first of every kind, tensors by what they are; and lines
    that these lack, of gradients in parts. Then the first rank's values, whole and by their header alone."""
    for name in ("recording", "hand_recording"):
        ranks = []
        for file in sorted((HERE.parent / "reference" / name).glob("rank-*.jsonl")):
            first = {}
            for text in file.read_text(encoding="utf-8").splitlines():
                line = json.loads(text)
                first.setdefault((line["line"], line.get("what"), line.get("direction")), text)
            ranks.append(list(first.values()))
        part = {"line": "tensor", "id": 900, "what": "grad", "name": "w", "step": 0, "dtype": "float32", "shape": [2, 3],
                "hash": "0" * 16, "stats": {"min": -1, "max": 1, "mean": 0, "abs_max": 1, "nan": 0, "inf": 0},
                "part": {"of": [4, 3], "begin": 0, "ranks": [0, 1], "hash": "0" * 15 + "1"}}
        placed = {"line": "placed", "what": "grad", "name": "w", "placements": ["S(0)"]}
        whole = [{**part, "part": {**part["part"], "begin": 2 * rank}} for rank in (0, 1)]
        few = [[lines[0], *(json.dumps(line) for line in (whole[rank], placed))] for rank, lines in enumerate(ranks)]
        values = (HERE.parent / "reference" / name / "rank-00000.values-0000.safetensors").read_bytes()
        (header,) = struct.unpack("<Q", values[:8])
        for both, kept in ((ranks, b""), (few, b""), (ranks, values), (ranks, values[:header + 8])):
            yield b"\0".join([*(("\n".join(lines) + "\n").encode() for lines in both), kept])


def lines():
    """Lines of every kind."""
    seen = set()
    for text in (HERE.parent / "reference" / "recording" / "rank-00000.jsonl").read_text(encoding="utf-8").splitlines():
        kind = json.loads(text)["line"]
        if kind not in seen:
            seen.add(kind)
            yield text.encode()
    yield '{"a":"\\u00e4\\n\\ud83d\\ude00","ä":[1e-7,-0.5E+3,null,true,[[0,4]]],"b":{"c":{}},"b":false}'.encode()


def profiles():
    """Two ranks' profiles, and their dumps of the Flight Recorder, cut to a few calls of each sort."""
    kineto = [(HERE.parent / "reference" / "kineto" / f"rank{rank}.json").read_text(encoding="utf-8") for rank in (0, 1)]
    few = []
    for text in kineto:
        whole, first = json.loads(text), {}
        for event in whole["traceEvents"]:
            first.setdefault(event["name"], []).append(event)
        whole["traceEvents"] = [event for events in first.values() for event in events[:2]]
        few.append(json.dumps(whole))
    yield b"p" + b"\0".join(text.encode() for text in few)
    dumps = [json.loads((HERE.parent / "reference" / "flight_recorder" / f"gloo_rank_{rank}.json").read_text(encoding="utf-8"))
             for rank in (0, 1)]
    sends = {"profiling_name": "nccl:send 0->1", "p2p_seq_id": 1, "is_p2p": True, "state": "completed"}
    for dump in dumps:
        dump["pg_config"] = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
        dump["entries"] = dump["entries"][:4] + [{**dump["entries"][0], **sends}]
    yield b"f" + b"\0".join(json.dumps(dump).encode() for dump in dumps)


def pickles():
    """The dumps of two ranks as PyTorch and Python pickle them, and one of them in every protocol."""
    files = [path.read_bytes() for path in sorted((HERE.parent / "reference" / "flight_recorder_pickles").iterdir())]
    return files + [pickle.dumps(pickle.loads(files[0]), protocol=protocol) for protocol in (2, 3, 4, 5)]


def inspector_log():
    """A log of NCCL's Inspector with the times of one collective, and without those of another."""
    perf = {"coll": "AllReduce", "coll_sn": 1, "coll_msg_size_bytes": 64, "coll_exec_time_us": 20}
    kernel = {"channel_id": 0, "kernel_start_ts": 1_700_000_000_000_005, "kernel_stop_ts": 1_700_000_000_000_025}
    trace = {"event_trace_ts": {"coll_start_ts": 1_700_000_000_000_000, "kernel_events": [kernel]}}
    return "".join(json.dumps({"header": {"id": "0x7f", "rank": 0, "n_ranks": 2, "nnodes": 1},
                               "metadata": {"dump_timestamp_us": 1_700_000_000_000_100}, "coll_perf": found}) + "\n"
                   for found in ({**perf, **trace}, {**perf, "coll_sn": 2, "coll": "ReduceScatter"})).encode()


def nsight_export():
    """An export of Nsight Systems with a step, a collective and a kernel of attention."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rank0.sqlite"
        db = sqlite3.connect(path)
        db.executescript("""
            PRAGMA page_size = 512;
            CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO StringIds VALUES(1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (2, 'flash_fwd_kernel'), (3, 'step 1');
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, shortName);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(5, 9, 0, 7, 1, 16777216, 1), (1, 3, 0, 8, 2, 16777216, 2);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(4, 5, 16777217, 1);
            CREATE TABLE NVTX_EVENTS(start, end, globalTid, text, textId);
            INSERT INTO NVTX_EVENTS VALUES(0, 9, 16777217, NULL, 3);
            CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs);
            INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);""")
        db.close()
        return path.read_bytes()


def debug_mode_log():
    """A real log of DebugMode, with the first record of each operator."""
    log = json.loads((HERE.parent / "reference" / "debug_mode" / "rank0.json").read_text(encoding="utf-8"))
    first = {}
    for call in log["logs"]:
        first.setdefault(call.get("op_name") or call["tag"], call)
    return json.dumps({**log, "logs": list(first.values())}).encode()


def main(folder):
    recording = sample(Format(HERE.parent.parent / "traces" / "FORMAT.md"))
    chunks = recording.chunks()
    inputs = {
        "chunk": [bytes([c.kind]) + struct.pack("<H", c.rows) + c.body for c in chunks if c.kind != 2],
        "safetensors": [data for name, data in cases_tensors.tensor_files() if len(data) < 4096],
        "json": [b'{"cp": 4, "strategy": "ring", "lr": 0.001, "text": ["a"], "model": {"layers": 2}}'] +
                [text if isinstance(text, bytes) else text.encode() for text in
                 (r.get("json") for r in recording.records["notes"])],
        "recording": list(recordings()),
        "line": list(lines()),
        "profile": list(profiles()),
        "pickle": pickles(),
        "inspector": [inspector_log()],
        "nsight": [nsight_export()],
        "debug_mode": [debug_mode_log()],
        "inflate": [gzip.compress(text, level) for text in (b"", b"a", pickles()[0]) for level in (0, 6)],
        "serve": [b"ssh://a@[::1]:22/~/b%20c", b"shell://sh%20-c/x", cases_frames.chunk_frame(chunks[0])] + [
            cases_frames.said(document) for document in (
                {"serve": 1, "format": 4, "release": "1"}, {"opened": 5}, {"busy": True}, {"listed": True},
                {"no_values": True}, {"problem": "a"}, {"refused": "a"}, {"cmd": "list"}, {"cmd": "read", "seq": 1},
                {"cmd": "values", "tensor": 1})] + [cases_frames.frame(bytes(62), b"H")],
        "frame": [cases_frames.chunk_frame(chunks[0])] + [
            cases_frames.said({"cmd": name, "id": 1, **{f: 1 for f in cases_frames.FIELDS.get(name, ())}})
            for name in cases_frames.REQUESTS] + [
            cases_frames.said({"hello": {"control": 0, "format": 0, "run_id": "a", "capabilities": ["x"]}}),
            cases_frames.said({"end": {"run_id": "a", "stopped": False, "reason": ""}}), cases_frames.said({"error": "x"})]}
    for target, files in inputs.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(files):
            (folder / target / str(number)).write_bytes(data)
    json.dump({target: len(files) for target, files in inputs.items()}, sys.stdout)
    print()


main(Path(sys.argv[1]))
