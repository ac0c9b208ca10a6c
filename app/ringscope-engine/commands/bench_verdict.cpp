// SPDX-License-Identifier: Apache-2.0
// The errors that the verdicts of `--verify` and of `verify` miss, and the correct runs that they
// report as wrong.
#include <ATen/ATen.h>

#include <cmath>
#include <iostream>
#include <random>

#include "app/ringscope-engine/commands/bench.h"
#include "app/ringscope-engine/commands/bench_verdict_gradients.h"
#include "app/ringscope-engine/commands/tiled_attention.h"
#include "app/ringscope-engine/commands/verdict_tally.h"
#include "engine/attend/attend_reference.h"
#include "engine/gate/gate_state.h"
#include "engine/plan.h"
#include "engine/tensors/tensor_io.h"
#include "engine/verify/attended.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/rounding_limits.h"
#include "traces/analysis/verify/recompute/limited_attention.h"
#include "traces/format/core/prose.h"
#include "traces/plan/balance.h"
#include "traces/plan/strategy.h"

namespace ringscope::app {
namespace {

using engine::LayerAttention;

/// One random attention and its sharding.
struct Case {
  engine::AttendInput in;
  engine::AttendConfig config;
  std::string type;
  /// Rows have a common direction, so a neighbour's row may be within rounding.
  bool alike = false;
};

template <typename T>
T pickOne(std::mt19937& random, const std::vector<T>& list) {
  return list[random() % list.size()];
}

/// Returns a random value of an enumeration among those for which `fits` holds.
template <typename Enum, typename Fits>
Enum anyOf(std::mt19937& random, const Fits& fits) {
  std::vector<Enum> values;
  for (std::size_t i = 0; i < traces::kValueCount<Enum>; ++i)
    if (fits(static_cast<Enum>(i))) values.push_back(static_cast<Enum>(i));
  return pickOne(random, values);
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

Case randomCase(std::mt19937& random, const std::string& type, const BenchOptions& o) {
  Case c;
  c.type = type;
  const auto dtype = type == "float32" ? at::kFloat : type == "float16" ? at::kHalf : at::kBFloat16;
  c.config.fp8 = type == "fp8";
  c.config.cp = pickOne(random, o.ranks.empty() ? std::vector{1, 2, 4, 8, 16} : o.ranks);
  c.config.capture = "none";
  const auto doublings = static_cast<std::uint32_t>(std::log2(static_cast<double>(o.length) / 64));
  const std::int64_t length = std::int64_t{64} << random() % (doublings + 1);
  const std::int64_t kv = pickOne<std::int64_t>(random, {1, 2}), heads = 2,
                     width = pickOne<std::int64_t>(random, {8, 16, 32, 64, 128});
  const double size = pickOne(random, std::vector{0.3, 1.0, 2.0});
  // Rows of a trained model have a common direction, which the partial sums of a row show.
  const auto tensor = [&](std::int64_t h) {
    const double mean = pickOne(random, std::vector{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 4.0});
    c.alike = c.alike || mean > 0;
    const at::Tensor common = mean * at::randn({1, h, 1, width});
    return ((at::randn({1, h, length, width}) + common) * size).to(dtype);
  };
  c.in = {tensor(heads),
          tensor(kv),
          tensor(kv),
          tensor(heads),
          randomMask(random, length),
          1 / std::sqrt(static_cast<double>(width))};
  c.config.balance = anyOf<traces::Balance>(random, [&](traces::Balance balance) {
    return !traces::needsDocuments(balance) &&
           (c.in.mask.causal || !traces::evensCausalWork(balance)) &&
           length % traces::lengthUnit(balance, c.config.cp) == 0;
  });
  c.config.strategy = anyOf<traces::Strategy>(random, [](traces::Strategy strategy) {
    return traces::sharing(strategy) != traces::Sharing::kSharesHeads;
  });
  return c;
}

/// Returns copies of `actual`, [B, H, S, D] or [B, H, S], in which every row is wrong as a mistake
/// would make it.
std::vector<Alteration> altered(const at::Tensor& actual, int cp) {
  const std::int64_t shard = std::max<std::int64_t>(1, actual.size(2) / cp);
  return {{"zeroed", at::zeros_like(actual)},
          {"1 % too large", actual * 1.01},
          {"of its neighbour", at::roll(actual, 1, 2)},
          {"of another head", at::roll(actual, 1, 1)},
          {"of another rank", at::roll(actual, shard, 2)}};
}

/// Returns, for each of kAttendResults, the largest error of each row over `runs` runs of one
/// device.
std::vector<at::Tensor> largestErrors(const Case& c, int runs, std::mt19937& random) {
  const engine::AttendReference own(c.in, c.config.fp8);
  const LayerAttention in{c.in.q, c.in.k, c.in.v, {}, {}, c.in.dout, {}, {}, {}};
  TiledAttention tiled(c.in.mask, c.in.q.size(2), c.in.scale, c.in.q.scalar_type(), c.config.fp8,
                       random);
  std::vector<at::Tensor> largest;
  for (int i = 0; i < runs; ++i) {
    const LayerAttention device = i == 0 ? own.one_device : engine::attended(tiled, in);
    for (std::size_t t = 0; t < std::size(engine::kAttendResults); ++t) {
      const auto values = engine::kAttendResults[t].values;
      const at::Tensor errors = engine::rowErrors(device.*values, own.exact.*values);
      if (i == 0)
        largest.push_back(errors);
      else
        at::maximum_out(largest[t], largest[t], errors);
    }
  }
  return largest;
}

std::vector<double> listed(const at::Tensor& t) {
  const at::Tensor values = t.to(at::kCPU, at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

at::Tensor shapedAs(const std::vector<double>& values, const at::Tensor& like) {
  return at::tensor(values, at::kDouble).view(like.sizes());
}

/// Judges a run with the values and the limits of `verify`.
void judgeAsVerify(const Case& c, const engine::AttendOutcome& outcome,
                   const std::vector<at::Tensor>& of_device, VerdictTally& tally) {
  const LayerAttention used = engine::asUsed({c.in.q, c.in.k, c.in.v}, c.config.fp8);
  const auto q = listed(used.q), k = listed(used.k), v = listed(used.v), dout = listed(c.in.dout);
  traces::AttentionInputs in;
  in.batch = c.in.q.size(0);
  in.heads = c.in.q.size(1);
  in.kv_heads = c.in.k.size(1);
  in.head_dim = c.in.q.size(3);
  for (std::int64_t i = 0; i < c.in.q.size(2); ++i)
    in.q_tokens.push_back(traces::TokenIndex::of(i));
  in.k_tokens = in.q_tokens;
  in.q = q;
  in.k = k;
  in.v = v;
  in.dout = dout;
  in.scale = c.in.scale;
  in.mask = {c.in.mask.causal, c.in.mask.window, !c.in.mask.documents.empty(), c.in.mask.documents};
  const auto stored_out = listed(outcome.tensors.at("out"));
  const auto [values, limits] =
      traces::attendWithLimits(in, {engine::dtypeFrom(c.in.q), *outcome.blocks, 1}, stored_out);
  const std::pair<const std::vector<double>*, const std::vector<double>*> results[] = {
      {&values.out, &limits.out},
      {&values.lse, &limits.lse},
      {&values.dq, &limits.dq},
      {&values.dk, &limits.dk},
      {&values.dv, &limits.dv}};
  double worst = 0;
  for (std::size_t t = 0; t < std::size(engine::kAttendResults); ++t) {
    const char* name = engine::kAttendResults[t].name;
    const at::Tensor& actual = outcome.tensors.at(name);
    const engine::HeldTo held{
        shapedAs(*results[t].first, actual),
        shapedAs(*results[t].second, actual.dim() == 4 ? actual.select(3, 0) : actual)};
    traces::DiffRecord diff;
    engine::measureRows(diff, actual, {held});
    worst = diff.ratio <= worst ? worst : diff.ratio;
    if (c.alike) continue;
    tally.countAltered({name, c.in.q.size(2), actual, {held}, of_device[t]},
                       altered(actual, c.config.cp));
  }
  tally.countRun(worst);
}

void judge(const Case& c, int runs, std::mt19937& random, VerdictTally& tally,
           VerdictTally& as_verify) {
  engine::Gate gate(c.config.cp);
  const auto outcome = engine::attend(c.in, c.config, gate);
  double worst = 0;
  for (const auto& diff : engine::verifyAttend(c.in, outcome, c.config.fp8))
    worst = diff.ratio <= worst ? worst : diff.ratio;  // NaN counts as worst
  tally.countRun(worst);
  const std::vector<at::Tensor> of_device =
      c.alike ? std::vector<at::Tensor>(std::size(engine::kAttendResults))
              : largestErrors(c, runs, random);
  judgeAsVerify(c, outcome, of_device, as_verify);
  if (c.alike) return;
  // The limits use the `out` that the run stored, because a single device would begin backward with
  // an `out` of its own.
  const engine::AttendReference is(c.in, c.config.fp8, outcome.tensors.at("out"), outcome.device,
                                   outcome.blocks);
  for (std::size_t t = 0; t < std::size(engine::kAttendResults); ++t) {
    const engine::AttendResult& result = engine::kAttendResults[t];
    const at::Tensor &actual = outcome.tensors.at(result.name), &exact = is.exact.*result.values;
    const at::Tensor limits =
        engine::rowLimits(exact, (is.one_device.*result.values).to(actual.scalar_type()),
                          &(is.variance.*result.variance));
    tally.countAltered({result.name, c.in.q.size(2), actual, {{exact, limits}}, of_device[t]},
                       altered(actual, c.config.cp));
  }
}

}  // namespace

nlohmann::json benchVerdict(const BenchOptions& o) {
  nlohmann::json report = {{"bench", "verdict"}, {"types", nlohmann::json::object()}};
  for (const char* type : {"float32", "bfloat16", "float16", "fp8"}) {
    std::mt19937 random(static_cast<std::uint32_t>(o.seed));
    at::manual_seed(o.seed);
    VerdictTally tally, as_verify;
    for (int i = 0; i < o.rounds; ++i) {
      const Case c = randomCase(random, type, o);
      judge(c, o.runs, random, tally, as_verify);
    }
    report["types"][type] = tally.toJson();
    report["types"][std::string(type) + ", as verify"] = as_verify.toJson();
  }
  for (const GradientType& type : kGradientTypes) {
    std::mt19937 random(static_cast<std::uint32_t>(o.seed));
    at::manual_seed(o.seed);
    VerdictTally tally;
    for (int i = 0; i < o.rounds; ++i) judgeGradients(type, o, random, tally);
    report["types"]["gradients in " + std::string(type.name)] = tally.toJson();
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
