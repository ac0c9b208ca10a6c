// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/prediction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/plan/run_rules.h"

namespace ringscope::traces {
namespace {

std::string titleOf(const RunSpec& run) {
  std::string title = name(run.strategy);
  if (run.strategy == Strategy::kHybrid) {
    const std::int32_t ulysses = ulyssesSize(run);
    title += " " + std::to_string(ulysses) + " × " + std::to_string(run.cp / ulysses);
  }
  if (hasRingHops(run) && run.rotate != Rotate::kP2p) title += std::string(", ") + name(run.rotate);
  return title;
}

/// Whether a rank does nothing else between posting an exchange and waiting for it.
std::vector<bool> idleExchanges(const Program::Rank& rank) {
  std::vector<bool> idle(rank.exchanges.size(), false);
  std::vector<std::int64_t> worked_before(rank.exchanges.size(), -1);
  std::int64_t worked = 0;
  for (const Program::Op& op : rank.ops) {
    if (op.kind == Program::Op::Kind::kWork) worked += op.work_ns;
    if (op.kind == Program::Op::Kind::kPost) worked_before[op.subject] = worked;
    if (op.kind == Program::Op::Kind::kWait) idle[op.subject] = worked_before[op.subject] == worked;
  }
  return idle;
}

void addCost(CommunicationFigures& figures, const WaitCost& cost, bool idle) {
  const bool attention = cost.payload == Payload::kKv || cost.payload == Payload::kDkv ||
                         cost.payload == Payload::kHeads;
  if (!attention) return figures.other.add(cost);
  figures.attention.add(cost);
  const bool forward = cost.place.direction == Direction::kForward;
  (forward ? figures.forward : figures.backward).add(cost);
  if (forward && cost.payload == Payload::kKv) figures.forward_kv.add(cost);
  if (!forward && cost.payload == Payload::kDkv && idle) figures.last_hop_home.add(cost);
}

std::int64_t roundedUp(std::int64_t length, const RunSpec& run) {
  const std::int64_t unit = lengthUnit(chosenBalance(run), run.cp);
  return (length + unit - 1) / unit * unit;
}

/// From this share on hops count as hidden.
constexpr double kHidden = 0.99;

bool hidesForward(const Prediction& prediction) {
  return prediction.communication.forward_kv.hiddenShare().value_or(1) >= kHidden;
}

bool isPlainRing(const Prediction& prediction) {
  const RunSpec usual;  // a ring
  return prediction.run.strategy == usual.strategy && prediction.run.rotate == Rotate::kP2p;
}

bool hasForwardHops(const std::vector<Prediction>& strategies) {
  return std::ranges::any_of(strategies, [](const Prediction& p) {
    return isPlainRing(p) && p.communication.forward_kv.under_way_ns > 0;
  });
}

bool printsAlike(double a_ns, double b_ns) {
  return describeDuration(std::llround(a_ns)) == describeDuration(std::llround(b_ns));
}

}  // namespace

CommunicationFigures communicationOf(const Program& program, const ModelTimeline& timeline) {
  CommunicationFigures figures;
  std::size_t next = 0;  // waits are in the order of ranks and ops
  for (const Program::Rank& rank : program.ranks) {
    const auto idle = idleExchanges(rank);
    for (const Program::Op& op : rank.ops) {
      const bool waits = op.kind == Program::Op::Kind::kWait;
      if (!waits && op.kind != Program::Op::Kind::kCollective) continue;
      addCost(figures, timeline.waits[next++], waits && idle[op.subject]);
    }
  }
  return figures;
}

double Prediction::exposedShare() const {
  if (step_ns <= 0) return 0;
  return static_cast<double>(communication.attention.exposed_ns) / ranks / step_ns;
}

Prediction predict(const RunSpec& asked, const ModelSizes& sizes, const DeviceSpeed& device,
                   const Hardware& hardware) {
  RunSpec run = asked;
  run.model = {sizes.name,     sizes.layers,   sizes.hidden_size, sizes.heads,
               sizes.kv_heads, sizes.head_dim, sizes.vocab_size};
  const Program program = plannedProgram(run, sizes, device);
  const ModelTimeline timeline = replay(program, hardware);
  return {run,
          titleOf(run),
          run.cp,
          timeline.stepNs(),
          communicationOf(program, timeline),
          stepLimits(program, hardware, timeline)};
}

std::vector<Prediction> predictStrategies(const RunSpec& run, const ModelSizes& sizes,
                                          const DeviceSpeed& device, const Hardware& hardware) {
  std::vector<Prediction> all;
  const auto add = [&](Strategy strategy, Rotate rotate) {
    RunSpec other = run;
    other.strategy = strategy;
    other.rotate = rotate;
    other.model.heads = sizes.heads;
    const bool hybrid = strategy == Strategy::kHybrid;
    if (!hybrid) other.ulysses = 0;
    if (hybrid && (ulyssesSize(other) == 1 || ulyssesSize(other) == run.cp)) return;
    if (!hasRingHops(other) && rotate != Rotate::kP2p) return;
    try {
      all.push_back(predict(other, sizes, device, hardware));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUsage) throw;
    }
  };
  for (std::size_t s = 0; s < (run.cp == 1 ? 1 : kValueCount<Strategy>); ++s)
    for (const Rotate rotate : {Rotate::kP2p, Rotate::kAllGather})
      if (run.cp > 1 || rotate == Rotate::kP2p) add(static_cast<Strategy>(s), rotate);
  return all;
}

Quickest quickestStrategies(const std::vector<Prediction>& all, double uncertainty) {
  Quickest quickest;
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return all[i].step_ns; });
  for (const std::size_t i : order) {
    const double least = all[order.front()].step_ns, step = all[i].step_ns;
    const double longer = step == least ? 0 : step / least - 1;
    if (longer < uncertainty || printsAlike(step, least)) {
      quickest.tied.push_back(i);
      quickest.spread = longer;
    } else {
      quickest.next = i;
      quickest.ahead = longer;
      break;
    }
  }
  return quickest;
}

bool ringHidesForward(const std::vector<Prediction>& strategies) {
  return std::ranges::any_of(strategies,
                             [](const Prediction& p) { return isPlainRing(p) && hidesForward(p); });
}

LengthSweep sweepLengths(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                         const Hardware& hardware, std::int64_t from, std::int64_t to) {
  if (from < 1 || to < from || to > (std::int64_t{1} << 30))
    throw usageError("a sweep goes from a length of 1 or more up to a longer one");
  LengthSweep sweep;
  RunSpec at = run;
  for (std::int64_t length = from; length <= to; length *= 2) {
    at.seq_len = roundedUp(length, run);
    sweep.lengths.push_back(at.seq_len);
    sweep.at.push_back(predictStrategies(at, sizes, device, hardware));
  }
  sweep.ring_has_hops = std::ranges::any_of(sweep.at, hasForwardHops);
  if (!sweep.ring_has_hops) return sweep;
  at.strategy = RunSpec().strategy;  // a ring
  at.rotate = Rotate::kP2p;
  at.ulysses = 0;
  const auto hides = [&](std::int64_t units) {
    at.seq_len = units * lengthUnit(chosenBalance(run), run.cp);
    return hidesForward(predict(at, sizes, device, hardware));
  };
  const std::int64_t unit = lengthUnit(chosenBalance(run), run.cp);
  std::int64_t low = 0, high = (to + unit - 1) / unit;  // low does not hide, high does
  if (!hides(high)) return sweep;
  for (std::size_t i = 0; i < sweep.lengths.size(); ++i)
    if (!ringHidesForward(sweep.at[i])) low = sweep.lengths[i] / unit;
  while (high - low > std::max<std::int64_t>(1, high / 64)) {
    const std::int64_t middle = low + (high - low) / 2;
    (hides(middle) ? high : low) = middle;
  }
  sweep.ring_hides_forward_at = high * unit;
  return sweep;
}

}  // namespace ringscope::traces
