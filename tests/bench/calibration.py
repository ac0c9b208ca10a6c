# SPDX-License-Identifier: Apache-2.0
"""Measures the error of a calibrated own-device model on training steps that it has not seen. See README.md.

    python3 tests/bench/calibration.py BUILD [--runs 20] [--seed 1] [--steps 12] [--ranks 1|2] [--dtype bfloat16]

The script trains and records small random models. Every second run calibrates `ringscope predict`, which
then predicts the other runs with as many ranks. Ranks are threads, and each needs its own core.

A prediction is compared with the recorded step time, which needs an idle machine. It is also compared with a
replay of the recorded CPU times on the fitted link, which other programs disturb less.
"""

import argparse
import array
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile

VOCABULARY = 256
TEXT = pathlib.Path(__file__).resolve().parents[2] / "resources/sample/text.txt"


def parameter_shapes(config):
    """Returns the shapes of a Llama's parameters, by their names in a Hugging Face folder."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    shapes = {"model.embed_tokens.weight": [VOCABULARY, hidden], "lm_head.weight": [VOCABULARY, hidden]}
    shapes["model.norm.weight"] = [hidden]
    layer_shapes = {
        "input_layernorm": [hidden],
        "post_attention_layernorm": [hidden],
        "self_attn.q_proj": [queries, hidden],
        "self_attn.k_proj": [keys, hidden],
        "self_attn.v_proj": [keys, hidden],
        "self_attn.o_proj": [hidden, queries],
        "mlp.gate_proj": [inner, hidden],
        "mlp.up_proj": [inner, hidden],
        "mlp.down_proj": [hidden, inner],
    }
    for layer in range(config["num_hidden_layers"]):
        shapes.update({f"model.layers.{layer}.{name}.weight": shape for name, shape in layer_shapes.items()})
    return shapes


def write_model(folder, config, rng):
    """Writes a folder that `train --model` and `predict --model` read."""
    some = array.array("f", [rng.gauss(0, 0.05) for _ in range(4099)])
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    header, parts, at = {}, [], 0
    for name, shape in parameter_shapes(config).items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = array.array("f", [1.0]) * count if len(shape) == 1 else (some * (count // 4099 + 1))[:count]
        parts.append(values.tobytes())
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def draw_config(rng):
    heads = rng.choice([1, 2, 4])
    hidden = rng.choice([64, 128, 256])
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": hidden * rng.choice([2, 3, 4]),
        "num_hidden_layers": rng.choice([1, 2, 3, 4]),
        "num_attention_heads": heads * rng.choice([1, 2, 4]),
        "num_key_value_heads": heads,
        "head_dim": rng.choice([16, 32, 64]),
        "vocab_size": VOCABULARY,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "max_position_embeddings": 8192,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    }


def draw_run(rng, config, cp):
    """Returns the options that train and predict share."""
    length = rng.choice([128, 256, 512, 1024])
    mask = rng.choice(["causal", "causal", "window", "full"])
    options = ["--cp", cp, "--seq-len", length, "--batch", rng.choice([1, 1, 2]), "--mask", mask]
    if mask == "window":
        options += ["--window", rng.choice([32, 100, length // 2])]
    if cp == 2:
        ulysses = ["ulysses"] * (config["num_key_value_heads"] % 2 == 0)
        strategy = rng.choice(["ring", "ring", "all_gather", *ulysses])
        even = strategy == "ulysses" or mask == "full"
        options += ["--strategy", strategy, "--balance", "none" if even else rng.choice(["none", "head_tail"])]
        if strategy == "ring":
            options += ["--rotate", rng.choice(["p2p", "allgather"])]
            options += ["--order", rng.choice(["diagonal_first", "diagonal_last"])]
    return options


class Bench:
    def __init__(self, asked, folder):
        self.program = str(pathlib.Path(asked.build) / "bin/ringscope")
        self.asked, self.folder = asked, folder

    def call(self, *words):
        command = [self.program, *map(str, words)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return done.stdout

    def record(self, number):
        """Trains a random model. Returns the recording, the number of ranks and the options."""
        rng = random.Random(f"{self.asked.seed} {number}")
        config = draw_config(rng)
        model, trace = self.folder / f"model-{number}", self.folder / f"{number}.rscope"
        write_model(model, config, rng)
        ranks = self.asked.ranks or number // 2 % 2 + 1
        options = ["--model", model, *draw_run(rng, config, ranks), "--dtype", self.asked.dtype]
        how = ["--steps", self.asked.steps, "--capture", "none", "--trace", trace]
        self.call("train", "--text", TEXT, *how, *options)
        return trace, ranks, options

    def recorded_ms(self, trace):
        """Returns the median time of all training steps but the first two."""
        select = "SELECT max(end_ns) - min(begin_ns) FROM events GROUP BY train_step ORDER BY train_step"
        steps = [float(line) for line in self.call("query", trace, select, "--csv").splitlines()[1:]]
        return statistics.median(steps[2:]) / 1e6

    def predict(self, ranks, options, traces):
        """Returns the predicted step time and the fitted link. Rank threads move messages while both wait."""
        no_link = ["--bandwidth", 0] if ranks == 1 else []
        answer = self.call("predict", *options, *no_link, "--no-overlap", "--json", "--calibrate", *traces)
        answer = json.loads(answer)
        link = answer["hardware"]["link"]
        fitted = ["--bandwidth", link["gigabytes_per_second"], "--latency", link["latency_us"]]
        return answer["asked"]["step_ns"] / 1e6, fitted

    def replayed_ms(self, trace, link):
        """Returns the median time of the same steps if each stage takes its recorded CPU time."""
        times = []
        for step in range(2, self.asked.steps):
            answer = self.call("predict", trace, "--no-overlap", "--json", "--step", step, *link)
            times.append(json.loads(answer)["step_ns"] / 1e6)
        return statistics.median(times)


def report(name, errors):
    errors = sorted(map(abs, errors))
    print(f"{name}: error {statistics.median(errors):.1%} in the median, "
          f"{errors[len(errors) * 9 // 10]:.1%} in nine of ten, {errors[-1]:.1%} at most")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--ranks", type=int, choices=(1, 2), help="per run (default: half of the runs have one)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(asked, pathlib.Path(folder))
        runs = [bench.record(number) for number in range(asked.runs)]
        of_steps, of_replays = [], []
        for trace, ranks, options in runs[1::2]:
            known = [other for other, its, _ in runs[::2] if its == ranks]
            predicted, link = bench.predict(ranks, options, known)
            of_steps.append(predicted / bench.recorded_ms(trace) - 1)
            of_replays.append(predicted / bench.replayed_ms(trace, link) - 1)
            print("%8.2f ms predicted, step %+6.1f %%, replay %+6.1f %%  %s" % (
                predicted, 100 * of_steps[-1], 100 * of_replays[-1], " ".join(map(str, options[2:]))))
    report("recorded step times", of_steps)
    report("replays of recorded CPU times", of_replays)


if __name__ == "__main__":
    main()
