// SPDX-License-Identifier: Apache-2.0
#include "traces/clock/prediction.h"

#include <algorithm>

#include "traces/core/error.h"
#include "traces/schema/run_rules.h"

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

/// The share of forward KV hops' time that lies under work.
double hiddenShare(const Prediction& prediction) {
  const CommunicationSum& kv = prediction.communication.forward_kv;
  return kv.under_way_ns == 0
             ? 1
             : static_cast<double>(kv.hidden_ns) / static_cast<double>(kv.under_way_ns);
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
  return {run, titleOf(run), run.cp, timeline.stepNs(), communicationOf(program, timeline)};
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

bool ringHidesForward(const std::vector<Prediction>& strategies) {
  return std::ranges::any_of(strategies, [](const Prediction& p) {
    const RunSpec usual;  // a ring
    const bool plain = p.run.strategy == usual.strategy && p.run.rotate == Rotate::kP2p;
    return plain && hiddenShare(p) >= kHidden;
  });
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
  if (run.cp < 2) return sweep;
  at.strategy = RunSpec().strategy;  // a ring
  at.rotate = Rotate::kP2p;
  at.ulysses = 0;
  const auto hides = [&](std::int64_t units) {
    at.seq_len = units * lengthUnit(chosenBalance(run), run.cp);
    return hiddenShare(predict(at, sizes, device, hardware)) >= kHidden;
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
