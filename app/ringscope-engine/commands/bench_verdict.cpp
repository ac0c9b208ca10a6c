// SPDX-License-Identifier: Apache-2.0
// What the verdicts of `--verify` miss, and what they accuse wrongly.
#include <ATen/ATen.h>

#include <cmath>
#include <iostream>
#include <map>
#include <random>

#include "app/ringscope-engine/commands/bench.h"
#include "engine/attend/attend_reference.h"
#include "engine/attention/fp8.h"
#include "engine/attention/merge.h"
#include "engine/attention/reference.h"
#include "engine/gate/gate_state.h"
#include "engine/verify/error_measure.h"
#include "traces/core/prose.h"

namespace ringscope::app {
namespace {

using engine::LayerAttention;

/// One random attention and how it is sharded.
struct Case {
  engine::AttendInput in;
  engine::AttendConfig config;
  std::string type;
};

template <typename T>
T oneOf(std::mt19937& random, std::initializer_list<T> list) {
  return list.begin()[random() % list.size()];
}

engine::Mask randomMask(std::mt19937& random, std::int64_t length) {
  switch (random() % 4) {
    case 0:
      return engine::Mask::full();
    case 1:
      return engine::Mask::causalMask();
    case 2:
      return engine::Mask::slidingWindow(1 + static_cast<std::int64_t>(random()) % length);
    default: {
      engine::Mask mask{true, 0, {}};
      for (std::int64_t at = 0; at < length;) {
        const std::int64_t end =
            std::min<std::int64_t>(length, at + 1 + static_cast<std::int64_t>(random()) % length);
        mask.documents.push_back({at, end});
        at = end;
      }
      return mask;
    }
  }
}

Case randomCase(std::mt19937& random, const std::string& type, std::int64_t longest) {
  Case c;
  c.type = type;
  const auto dtype = type == "float32" ? at::kFloat : type == "float16" ? at::kHalf : at::kBFloat16;
  c.config.fp8 = type == "fp8";
  c.config.cp = oneOf(random, {2, 4, 8, 16});
  c.config.capture = "none";
  std::int64_t length = 64;
  while (length < longest && random() % 3) length *= 2;
  const std::int64_t kv = oneOf<std::int64_t>(random, {1, 2}), heads = 2,
                     width = oneOf<std::int64_t>(random, {8, 16, 32, 64, 128});
  const double size = oneOf(random, {0.3, 1.0, 2.0});
  const auto tensor = [&](std::int64_t h) {
    return (at::randn({1, h, length, width}) * size).to(dtype);
  };
  c.in = {tensor(heads),
          tensor(kv),
          tensor(kv),
          tensor(heads),
          randomMask(random, length),
          1 / std::sqrt(static_cast<double>(width))};
  using traces::Balance;
  c.config.balance = c.in.mask.causal
                         ? oneOf(random, {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
                         : Balance::kNone;
  c.config.strategy = oneOf(
      random, {traces::Strategy::kRing, traces::Strategy::kRing, traces::Strategy::kAllGather});
  return c;
}

/// One device with another tiling: the keys in `parts` blocks, one merged after another, from the
/// one with the number `first` on.
LayerAttention tiled(const Case& c, std::int64_t parts, std::int64_t first) {
  const auto used = [&](const at::Tensor& t) { return c.config.fp8 ? engine::roundedToFp8(t) : t; };
  const std::int64_t length = c.in.q.size(2), group = c.in.q.size(1) / c.in.k.size(1);
  const at::Tensor q = used(c.in.q), k = used(c.in.k).repeat_interleave(group, 1),
                   v = used(c.in.v).repeat_interleave(group, 1);
  const at::Tensor refused = engine::refusedByMask(c.in.mask, 0, length, length);
  const auto bias = at::zeros({length, length}, q.scalar_type())
                        .masked_fill(refused, -std::numeric_limits<double>::infinity());
  const auto block = [&](const at::Tensor& t, std::int64_t i, std::int64_t dim) {
    return t.slice(dim, i * length / parts, (i + 1) * length / parts);
  };
  engine::RunningResult running = engine::emptyRunningResult(q);
  for (std::int64_t n = 0; n < parts; ++n) {
    const std::int64_t i = (first + n) % parts;
    auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
        q, block(k, i, 2), block(v, i, 2), 0.0, false, block(bias, i, 1).unsqueeze(0).unsqueeze(0),
        c.in.scale);
    const at::Tensor empty = block(refused, i, 1).all(-1);
    engine::AttentionResult part{
        out.masked_fill(empty.view({1, 1, -1, 1}), 0),
        lse.masked_fill(empty.view({1, 1, -1}), -std::numeric_limits<double>::infinity())};
    engine::mergeBlock(running, part, 0);
  }
  LayerAttention a;
  a.out = running.out.to(q.scalar_type());
  a.lse = running.lse;
  const at::Tensor lse = a.lse.masked_fill(at::isneginf(a.lse), 0);
  a.dq = at::zeros(q.sizes(), at::kFloat);
  std::vector<at::Tensor> dk, dv;
  for (std::int64_t i = 0; i < parts; ++i) {
    auto [dq_part, dk_part, dv_part] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        c.in.dout, q, block(k, i, 2), block(v, i, 2), a.out, lse, 0.0, false,
        block(bias, i, 1).unsqueeze(0).unsqueeze(0), c.in.scale);
    a.dq += dq_part;
    dk.push_back(dk_part);
    dv.push_back(dv_part);
  }
  const auto per_group = [&](const std::vector<at::Tensor>& parts_of) {
    return at::cat(parts_of, 2)
        .to(at::kFloat)
        .view({1, c.in.k.size(1), group, length, -1})
        .sum(2)
        .to(q.scalar_type());
  };
  a.dq = a.dq.to(q.scalar_type());
  a.dk = per_group(dk);
  a.dv = per_group(dv);
  return a;
}

struct Alteration {
  const char* name;
  at::Tensor rows;
};

/// Every row as a mistake might leave it.
std::vector<Alteration> altered(const at::Tensor& actual, int cp) {
  const std::int64_t shard = std::max<std::int64_t>(1, actual.size(2) / cp);
  return {{"zeroed", at::zeros_like(actual)},
          {"1 % too large", actual * 1.01},
          {"of its neighbour", at::roll(actual, 1, 2)},
          {"of another head", at::roll(actual, 1, 1)},
          {"of another rank", at::roll(actual, shard, 2)}};
}

/// What one type's verdicts did.
struct Tally {
  std::int64_t cases = 0, accused = 0, altered = 0, unseen = 0;
  std::map<std::string, std::int64_t> unseen_by;  ///< tensor and alteration
  double largest_ratio = 0;
  std::vector<double> tightness;  ///< median limit ÷ largest single-device error, of each tensor
};

void judge(const Case& c, int runs, Tally& tally) {
  engine::Gate gate(c.config.cp);
  const auto outcome = engine::attend(c.in, c.config, gate);
  ++tally.cases;
  bool accused = false;
  for (const auto& diff : engine::verifyAttend(c.in, outcome, c.config.fp8)) {
    tally.largest_ratio = std::max(tally.largest_ratio, diff.ratio);
    accused |= !(diff.ratio <= 1);
  }
  tally.accused += accused;
  // Judged by what the run stored; a single device begins backward with an out of its own.
  const engine::AttendReference is(c.in, c.config.fp8, outcome.tensors.at("out")),
      own(c.in, c.config.fp8);
  std::vector<LayerAttention> devices = {own.one_device};
  for (int i = 0; i < runs; ++i)
    devices.push_back(tiled(c, 1 + i % std::min<std::int64_t>(8, c.in.q.size(2)), i));
  for (const engine::AttendResult& result : engine::kAttendResults) {
    const at::Tensor &actual = outcome.tensors.at(result.name), &exact = is.exact.*result.values;
    const at::Tensor limits =
        engine::rowLimits(exact, (is.one_device.*result.values).to(actual.scalar_type()),
                          &(is.variance.*result.variance));
    at::Tensor largest = at::zeros_like(limits);
    for (const LayerAttention& device : devices)
      largest =
          at::maximum(largest, engine::rowErrors(device.*result.values, own.exact.*result.values));
    const at::Tensor measured = (limits / largest).masked_select(largest > 0);
    if (measured.numel() > 0) tally.tightness.push_back(measured.median().item<double>());
    for (const auto& [name, wrong] : altered(actual, c.config.cp)) {
      const at::Tensor counted = engine::rowErrors(wrong, actual.to(at::kDouble)) > 4 * largest;
      tally.altered += counted.sum().item<std::int64_t>();
      const auto unseen = at::logical_and(counted, engine::rowErrors(wrong, exact) <= limits)
                              .sum()
                              .item<std::int64_t>();
      tally.unseen += unseen;
      if (unseen > 0) tally.unseen_by[std::string(result.name) + " " + name] += unseen;
    }
  }
}

}  // namespace

nlohmann::json benchVerdict(const BenchOptions& o) {
  nlohmann::json report = {{"bench", "verdict"}, {"types", nlohmann::json::object()}};
  for (const char* type : {"float32", "bfloat16", "float16", "fp8"}) {
    std::mt19937 random(static_cast<std::uint32_t>(o.seed));
    at::manual_seed(o.seed);
    Tally tally;
    for (int i = 0; i < o.rounds; ++i) judge(randomCase(random, type, o.length), o.runs, tally);
    report["types"][type] = {{"configurations", tally.cases},
                             {"false_alarms", tally.accused},
                             {"largest_ratio", tally.largest_ratio},
                             {"altered_rows", tally.altered},
                             {"unseen_rows", tally.unseen},
                             {"unseen_by", tally.unseen_by},
                             {"limit_over_largest_device_error", median(tally.tightness)}};
  }
  return report;
}

void printVerdict(const nlohmann::json& r) {
  for (const auto& [type, t] : r["types"].items())
    std::cout << type << ": " << t["false_alarms"] << " of " << t["configurations"]
              << " right configurations accused (worst row "
              << traces::describeMultiple(t["largest_ratio"]) << " its limit), " << t["unseen_rows"]
              << " of " << t["altered_rows"] << " altered rows unseen, limit "
              << traces::describeMultiple(t["limit_over_largest_device_error"])
              << " the largest error of one device (median)\n";
}

}  // namespace ringscope::app
