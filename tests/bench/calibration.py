# SPDX-License-Identifier: Apache-2.0
"""Measures the error of a calibrated own-device model on training steps that it has not seen.

    Usage: python3 tests/bench/calibration.py BUILD [--runs 60] [--seed 1] [--steps 12]
        [--seconds 0] [--tries 1] [--wide] [--dtype bfloat16] [--fp8] [--device cuda]
        [--keep FOLDER] [--exchange] [--ranks 1|2].

See README.md in this folder. Random small models and runs of one and two rank threads, one core
each, are trained and recorded. Every second run is used for `ringscope predict --calibrate`, which
then plans the other runs. Runs of one rank are planned from runs of one rank, because a busy
neighbour makes a core slower. The machine must be idle and have at least two cores.

On a machine that is shared with others, --tries records each run several times in turns. The script
keeps the recording whose step time is the median. With --wide, runs of two ranks may also share the
batch (dp) or the weights (tp), and some runs recompute activations. With --device cuda, all runs
have one rank on a GPU; they are larger, and bfloat16 by default. The option --keep leaves the
recordings in a folder, or uses the recordings that are in it. With --exchange, the other half of
the runs calibrates. With --ranks, all runs have that number of ranks.
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


def shapes_of(config):
    """Returns the shapes of a Llama's parameters, by their names in a Hugging Face folder."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    shapes = {"model.embed_tokens.weight": [VOCABULARY, hidden], "lm_head.weight": [VOCABULARY, hidden]}
    shapes["model.norm.weight"] = [hidden]
    for layer in range(config["num_hidden_layers"]):
        of_layer = {
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
        shapes.update({f"model.layers.{layer}.{name}.weight": shape for name, shape in of_layer.items()})
    return shapes


def write_model(folder, config, rng):
    """Writes a folder that `train --model` and `predict --model` read."""
    some = array.array("f", [rng.gauss(0, 0.05) for _ in range(4099)])
    if folder.exists():
        return  # the folder belongs to kept recordings
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    header, parts, at = {}, [], 0
    for name, shape in shapes_of(config).items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = array.array("f", [1.0]) * count if len(shape) == 1 else (some * (count // 4099 + 1))[:count]
        parts.append(values.tobytes())
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def draw_config(rng, on_gpu):
    heads = rng.choice([1, 2, 4])
    hidden = rng.choice([256, 512, 1024] if on_gpu else [64, 128, 256])
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


def draw_run(rng, config, cp, on_gpu):
    """Returns the options that train and predict share."""
    length = rng.choice([512, 1024, 2048] if on_gpu else [128, 256, 512, 1024])
    options = ["--cp", cp, "--seq-len", length, "--batch", rng.choice([1, 1, 2])]
    mask = rng.choice(["causal", "causal", "window", "full"])
    options += ["--mask", mask]
    if mask == "window":
        options += ["--window", rng.choice([32, 100, length // 2])]
    if cp == 2:
        able = ["ring", "ring", "all_gather"] + ["ulysses"] * (config["num_key_value_heads"] % 2 == 0)
        strategy = rng.choice(able)
        options += ["--strategy", strategy]
        even = strategy == "ulysses" or mask == "full"
        options += ["--balance", "none" if even else rng.choice(["none", "head_tail"])]
        if strategy == "ring":
            options += ["--rotate", rng.choice(["p2p", "allgather"])]
            options += ["--order", rng.choice(["diagonal_first", "diagonal_last"])]
    return [str(option) for option in options]


def widened(rng, options, config):
    """Returns a run of draw_run(), perhaps with another mesh or with more to compute."""
    options = list(options)
    if ranks_of(options) == "2":
        mesh = rng.choice(["cp", "dp"] + ["tp"] * (config["num_key_value_heads"] % 2 == 0))
        if mesh != "cp":
            kept = ("--seq-len", "--mask", "--window", "--batch")
            pairs = dict(zip(options[::2], options[1::2]))
            options = [word for name in kept if name in pairs for word in (name, pairs[name])]
            options += ["--cp", "1", f"--{mesh}", "2"]
            options[options.index("--batch") + 1] = "2"
    return options + ["--recompute"] * (rng.random() < 0.3)


def ranks_of(options):
    """Returns the number of ranks, on whichever axis they are."""
    return "2" if "--dp" in options or "--tp" in options else options[options.index("--cp") + 1]


class Bench:
    def __init__(self, asked, place):
        self.program = str(pathlib.Path(asked.build) / "bin/ringscope")
        self.steps, self.seconds, self.place = asked.steps, asked.seconds, place
        self.device = asked.device
        self.on_gpu = asked.device == "cuda"
        self.ranks = 1 if self.on_gpu else asked.ranks
        self.wide, self.fp8 = asked.wide, asked.fp8
        self.dtype = asked.dtype or ("bfloat16" if self.on_gpu else "float32")

    def call(self, *words):
        done = subprocess.run(
            [self.program, *map(str, words)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
        return done.stdout

    def draw(self, number, seed):
        rng = random.Random(f"{seed} {number}")
        config = draw_config(rng, self.on_gpu)
        model = self.place / f"model-{number}"
        write_model(model, config, rng)
        cp = self.ranks or number // 2 % 2 + 1  # half of each half
        run = draw_run(rng, config, cp, self.on_gpu)
        run = widened(rng, run, config) if self.wide else run
        run += ["--dtype", self.dtype] + ["--fp8"] * self.fp8
        return self.place / f"{number}.rscope", ["--model", model, *run]

    def record(self, trace, options, turn):
        """Records the run once more, as another candidate."""
        steps = self.steps
        # long enough to average over changes of the machine's speed
        if turn > 0 and self.seconds > 0:
            steps = max(steps, int(self.seconds * 1000 / self.recorded_ms(trace.with_suffix(".0"))))
        how = ["--steps", steps, "--capture", "none", "--device", self.device]
        self.call("train", "--text", TEXT, *how, "--trace", trace.with_suffix(f".{turn}"), *options)

    def choose(self, trace, turns):
        """Keeps the recording with the median time; the quickest one had an exceptional moment."""
        taken = sorted((trace.with_suffix(f".{turn}") for turn in turns), key=self.recorded_ms)
        taken[len(taken) // 2].replace(trace)
        for rest in trace.parent.glob(f"{trace.stem}.[0-9]*"):
            rest.unlink()

    def recorded_ms(self, trace):
        """Returns the median of the training steps without the first two, in milliseconds."""
        select = "SELECT max(end_ns) - min(begin_ns) FROM events GROUP BY train_step ORDER BY train_step"
        steps = [float(line) for line in self.call("query", trace, select, "--csv").splitlines()[1:]]
        return statistics.median(steps[2:]) / 1e6

    def predicted_ms(self, options, traces):
        """Returns the predicted step time in milliseconds. Rank threads copy a message while both
        of them wait for it.
        """
        link = ["--bandwidth", 0] if ranks_of(options) == "1" else []
        answer = self.call("predict", *options, *link, "--no-overlap", "--json", "--calibrate", *traces)
        return json.loads(answer)["asked"]["step_ns"] / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0, help="of steps at least, as a first turn shows")
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"))
    parser.add_argument("--fp8", action="store_true")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--keep", help="a folder for the recordings, or with those of the same options")
    parser.add_argument("--exchange", action="store_true")
    parser.add_argument("--ranks", type=int, choices=(1, 2), help="of each run; without it half of them have one")
    asked = parser.parse_args()
    if asked.tries < 1:
        parser.error("--tries: each run is recorded once at least")
    if asked.device == "cuda" and asked.ranks == 2:
        parser.error("--device cuda: all runs are of one rank")
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(asked, pathlib.Path(asked.keep or temporary))
        runs = [bench.draw(number, asked.seed) for number in range(asked.runs)]
        kept = all(trace.exists() for trace, _ in runs)
        # the first turn only shows how long a step takes
        turns = range(asked.tries + (asked.seconds > 0))
        if not kept:
            for turn in turns:
                for trace, options in runs:
                    bench.record(trace, options, turn)
            for trace, _ in runs:
                bench.choose(trace, turns[-asked.tries:])
        errors = []
        known, unseen = (runs[1::2], runs[::2]) if asked.exchange else (runs[::2], runs[1::2])
        for trace, options in unseen:
            recorded = bench.recorded_ms(trace)
            alike = [other for other, its in known if ranks_of(its) == ranks_of(options)]
            predicted = bench.predicted_ms(options, alike)
            errors.append(abs(predicted / recorded - 1))
            print("%8.2f ms predicted %8.2f ms recorded %+6.1f %%  %s" % (
                predicted, recorded, 100 * (predicted / recorded - 1), " ".join(map(str, options[2:]))))
        errors.sort()
        within = sum(error <= 0.15 for error in errors)
        print(f"{within} of {len(errors)} within 15 %, median {statistics.median(errors):.1%}, "
              f"nine of ten within {errors[len(errors) * 9 // 10]:.1%}, worst {errors[-1]:.1%}")


if __name__ == "__main__":
    main()
