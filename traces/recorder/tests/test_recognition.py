# SPDX-License-Identifier: Apache-2.0
"""Attention over shards that the recorder recognises without annotations."""

import os
import tempfile
import unittest

from jobs import HERE, torchrun
from test_recording import lines_of, of_kind


def record(script, processes=2):
    """Returns the lines of each rank of a job."""
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "run")
        torchrun(script, folder, processes=processes)
        return [lines_of(folder, rank) for rank in range(processes)]


def what_of(lines, attention, end):
    """Returns the kinds of tensors of an attention, from its two lines."""
    by_id = {t["id"]: t["what"] for t in of_kind(lines, "tensor")}
    return sorted(by_id[i] for i in (*attention["tensors"].values(), *end["tensors"].values()))


class Recognition(unittest.TestCase):
    def pairs(self, lines):
        ends = {end["call"]: end for end in of_kind(lines, "attention_end")}
        own = [a for a in of_kind(lines, "attention") if a["operator"] == "recognised"]
        return [(a, ends[a["call"]]) for a in own]

    def test_a_ring_has_inputs_results_and_gradients_of_each_layer(self):
        for lines in record("plain_naive_sum_merge.py"):
            self.assertEqual(of_kind(lines, "trouble"), [])
            pairs = [p for p in self.pairs(lines) if p[0]["step"] == 0]
            found = [(a["direction"], a["layer"], what_of(lines, a, end)) for a, end in pairs]
            forward, backward = ["k", "out", "q", "v"], ["dk", "dout", "dq", "dv"]
            self.assertEqual(
                found,
                [("forward", 0, forward), ("forward", 1, forward), ("backward", 1, backward), ("backward", 0, backward)],
            )
            self.assertEqual({a["causal"] for a, _ in pairs}, {None})
            payloads = {hop["payload"] for hop in of_kind(lines, "hop") if hop["pass"] == "backward"}
            self.assertEqual(payloads, {"kv", "dkv"})

    def test_all_to_alls_have_the_mask_of_the_operator_between_them(self):
        for lines in record("plain_ulysses.py"):
            self.assertEqual(of_kind(lines, "trouble"), [])
            pairs = self.pairs(lines)
            self.assertEqual([a["causal"] for a, _ in pairs], [True] * len(pairs))
            self.assertEqual({end["strategy"] for _, end in pairs}, {"ulysses"})
            self.assertIn("dq", what_of(lines, *pairs[-1]))

    def test_annotated_attention_is_not_recognised_as_well(self):
        for lines in record("ring.py"):
            self.assertEqual({a["operator"] for a in of_kind(lines, "attention")}, {"annotated"})

    def test_only_functions_that_send_their_q_k_or_v_are_attention(self):
        for lines in record(os.path.join(HERE, "recognition_job.py")):
            self.assertEqual(of_kind(lines, "trouble"), [])
            forwards = [p for p in self.pairs(lines) if p[0]["direction"] == "forward"]
            (_, failed_end), (gathered, end), (exchanged, _) = forwards
            self.assertEqual(failed_end["tensors"], {})
            self.assertEqual(what_of(lines, gathered, end), ["k", "out", "q", "v"])
            self.assertIs(gathered["causal"], False)
            plain = [a["call"] for a in of_kind(lines, "attention") if str(a["call"]).startswith("plain")]
            self.assertEqual(gathered["own_block"], plain[-1])
            said = (exchanged["causal"], exchanged["masked"], exchanged["mask"]["kind"])
            self.assertEqual(said, (None, True, "causal"))
            self.assertIn("which dimension of q is that of tokens", of_kind(lines, "limit")[-1]["why"])


if __name__ == "__main__":
    unittest.main()
