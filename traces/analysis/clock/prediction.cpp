// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/prediction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/plan/run_rules.h"
#include "traces/plan/strategy_choices.h"

namespace ringscope::traces {
namespace {

/// Reports for each exchange whether the rank does no work between posting it and waiting for it.
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

std::optional<double> stepSpread(const Program& program, const DeviceSpeed& device) {
  if (device.measured.empty()) return std::nullopt;
  double spread_ns = 0, all_ns = 0;
  for (const Program::Rank& rank : program.ranks)
    for (const Program::Op& op : rank.ops) {
      if (op.kind != Program::Op::Kind::kWork) continue;
      const Program::Happening& stage = rank.events[op.event];
      const auto& spread = device.measured.at({stage.kind, stage.place.direction}).spread;
      if (!spread) return std::nullopt;
      spread_ns += *spread * static_cast<double>(op.work_ns);
      all_ns += static_cast<double>(op.work_ns);
    }
  return all_ns > 0 ? std::optional(spread_ns / all_ns) : std::nullopt;
}

/// Hops count as hidden from this share on.
constexpr double kHidden = 0.99;

bool hidesForward(const Prediction& prediction) {
  return prediction.communication.forward_kv.hiddenShare().value_or(1) >= kHidden;
}

bool hasForwardHops(const std::vector<Prediction>& strategies) {
  return std::ranges::any_of(strategies, [](const Prediction& p) {
    return isPlainRing(p.run) && p.communication.forward_kv.under_way_ns > 0;
  });
}

bool printsAlike(double a_ns, double b_ns) {
  return describeDuration(std::llround(a_ns)) == describeDuration(std::llround(b_ns));
}

}  // namespace

CommunicationFigures& CommunicationFigures::operator+=(const CommunicationFigures& more) {
  attention += more.attention;
  forward += more.forward;
  backward += more.backward;
  forward_kv += more.forward_kv;
  last_hop_home += more.last_hop_home;
  other += more.other;
  return *this;
}

CommunicationFigures sumCommunication(const Program& program, const ModelTimeline& timeline) {
  CommunicationFigures figures;
  std::size_t next = 0;  // waits have the order of ranks and ops
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
          strategyTitle(run),
          run.cp,
          timeline.stepNs(),
          sumCommunication(program, timeline),
          stepLimits(program, hardware, timeline),
          stepSpread(program, device)};
}

std::vector<Prediction> predictStrategies(const RunSpec& run, const ModelSizes& sizes,
                                          const DeviceSpeed& device, const Hardware& hardware) {
  std::vector<Prediction> all;
  RunSpec asked = run;
  asked.model.heads = sizes.heads;
  for (const RunSpec& choice : strategyChoices(asked)) try {
      all.push_back(predict(choice, sizes, device, hardware));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUsage) throw;
    }
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
  return std::ranges::any_of(
      strategies, [](const Prediction& p) { return isPlainRing(p.run) && hidesForward(p); });
}

LengthSweep sweepLengths(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device,
                         const Hardware& hardware, std::int64_t from, std::int64_t to) {
  if (from < 1 || to < from || to > (std::int64_t{1} << 30))
    throw usageError("a sweep goes from a length of 1 or more up to a longer one");
  LengthSweep sweep;
  const std::int64_t unit = lengthUnit(chosenBalance(run), run.cp);
  const auto with_units = [unit](RunSpec sized, std::int64_t units) {
    sized.seq_len = units * unit;
    return sized;
  };
  for (std::int64_t length = from; length <= to; length *= 2) {
    const RunSpec sized = with_units(run, (length + unit - 1) / unit);
    sweep.lengths.push_back(sized.seq_len);
    sweep.at.push_back(predictStrategies(sized, sizes, device, hardware));
  }
  sweep.ring_has_hops = std::ranges::any_of(sweep.at, hasForwardHops);
  if (!sweep.ring_has_hops) return sweep;
  const auto hides = [&](std::int64_t units) {
    return hidesForward(predict(with_units(asPlainRing(run), units), sizes, device, hardware));
  };
  std::int64_t low = 0, high = (to + unit - 1) / unit;  // low does not hide its hops, high does
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
