// SPDX-License-Identifier: Apache-2.0
// Merges the recorded blocks again in fp64, by log-sum-exp weights and by plain addition, and says
// which of the two the recorded out is.
#include <cmath>

#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

/// out, block_out: [B, H, S, D]; lse, block_lse: [B, H, S]. A block covers query rows [begin, end).
struct Remerge {
  std::int64_t rows = 0, width = 0, seq = 0;
  std::vector<double> weighted, plain;

  void addBlock(const std::vector<double>& out, const std::vector<double>& block_lse,
                const std::vector<double>& lse, std::int64_t begin, std::int64_t end) {
    const std::int64_t block_seq = end - begin;
    const std::int64_t outer = rows / seq;
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t s = 0; s < block_seq; ++s) {
        const auto row = static_cast<std::size_t>(o * seq + begin + s);
        const auto block_row = static_cast<std::size_t>(o * block_seq + s);
        const double weight = std::exp(block_lse[block_row] - lse[row]);
        for (std::size_t d = 0; d < static_cast<std::size_t>(width); ++d) {
          const double value = out[block_row * static_cast<std::size_t>(width) + d];
          weighted[row * static_cast<std::size_t>(width) + d] += weight * value;
          plain[row * static_cast<std::size_t>(width) + d] += value;
        }
      }
    }
  }
};

double largestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

struct Comparison {
  double weighted_error = 0, plain_error = 0, scale = 0;
  int blocks = 0;
};

/// Nothing when a value that is needed was not kept.
std::optional<Comparison> compare(const Trace& trace, const TensorRecord& out) {
  const auto values = trace.values(out);
  const TensorRecord* lse = trace.findTensor("lse", out.place, out.rank);
  const auto lse_values = lse ? trace.values(*lse) : std::nullopt;
  if (!values || !lse_values || out.shape.size() != 4) return std::nullopt;
  Remerge merge;
  merge.width = out.shape[3];
  merge.seq = out.shape[2];
  merge.rows = out.shape[0] * out.shape[1] * out.shape[2];
  merge.weighted.assign(values->size(), 0);
  merge.plain.assign(values->size(), 0);
  Comparison result;
  for (const Event& event : trace.events(out.rank)) {
    if (event.kind != EventKind::kAttend || event.place.train_step != out.place.train_step ||
        event.place.layer != out.place.layer || event.place.direction != Direction::kForward)
      continue;
    const TensorRecord* block_out = trace.findTensor("block_out", event.place, out.rank);
    const TensorRecord* block_lse = trace.findTensor("block_lse", event.place, out.rank);
    if (!block_out || !block_lse) return std::nullopt;
    const auto block_values = trace.values(*block_out);
    const auto block_lse_values = trace.values(*block_lse);
    const auto covered =
        static_cast<std::size_t>((event.q_end - event.q_begin) * out.shape[0] * out.shape[1]);
    if (!block_values || !block_lse_values || event.q_begin < 0 || event.q_end > merge.seq ||
        block_lse_values->size() != covered ||
        block_values->size() != covered * static_cast<std::size_t>(merge.width))
      return std::nullopt;
    merge.addBlock(*block_values, *block_lse_values, *lse_values, event.q_begin, event.q_end);
    ++result.blocks;
  }
  if (result.blocks < 2) return std::nullopt;
  result.weighted_error = largestDifference(*values, merge.weighted);
  result.plain_error = largestDifference(*values, merge.plain);
  result.scale = std::max(std::abs(out.stats.min), std::abs(out.stats.max));
  return result;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

Finding finding(const TensorRecord& out, const Comparison& c) {
  Finding f;
  f.rule = "naive_sum_merge";
  f.severity = "error";
  f.confidence = c.plain_error < 1e-3 * c.weighted_error ? "certain" : "likely";
  f.title = "Block outputs are added without their log-sum-exp weights";
  f.place = out.place;
  f.rank = out.rank;
  f.buffer = "out";
  f.evidence = "The recorded out equals the plain sum of its " + std::to_string(c.blocks) +
               " blocks within " + number(c.plain_error) +
               "; from the sum weighted by exp(block_lse − lse) "
               "it differs by " +
               number(c.weighted_error) + ", where its largest value is " + number(c.scale) + ".";
  f.remedy =
      "Each block's out is normalised by its own sum. Merge with m = max(lse, block_lse), "
      "lse' = m + log(exp(lse − m) + exp(block_lse − m)), out' = exp(lse − lse')·out + "
      "exp(block_lse − lse')·block_out, in fp32.";
  return f;
}

}  // namespace

RuleResult checkNaiveSumMerge(const Trace& trace) {
  bool compared = false;
  bool ring = false;
  for (const TensorRecord& out : trace.tensors()) {
    if (out.name != "out" || out.place.direction != Direction::kForward) continue;
    ring = true;
    const auto c = compare(trace, out);
    if (!c) continue;
    compared = true;
    const double tolerance = 1e-2 * c->scale;
    if (c->weighted_error > tolerance && c->plain_error < c->weighted_error / 10)
      return found(finding(out, *c));
  }
  if (compared || (ring && trace.run().value("cp", 0) == 1)) return clear();
  return notObservable(
      "needs out, lse, block_out and block_lse of one layer; --capture full records them");
}

}  // namespace ringscope::traces
