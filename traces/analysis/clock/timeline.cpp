// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/timeline.h"

#include <map>

#include "traces/analysis/clock/replay_state.h"

namespace ringscope::traces {
namespace {

/// Sets the spans of stages, waits and collectives, from their first op to their last.
void setOpSpans(const Program& program, const ReplayState& state, ModelTimeline& timeline) {
  constexpr ClockSpan kNotYet{0, -1};
  timeline.spans.resize(program.ranks.size());
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const Program::Rank& rank = program.ranks[r];
    auto& spans = timeline.spans[r];
    spans.assign(rank.events.size(), kNotYet);
    for (std::size_t o = 0; o < rank.ops.size(); ++o) {
      if (rank.ops[o].event == Program::kNone) continue;
      ClockSpan& span = spans[rank.ops[o].event];
      if (span == kNotYet) span.begin_ns = state.opBeginNs(r, o);
      span.end_ns = state.op_end_ns[r][o];
    }
    timeline.rank_end_ns.push_back(rank.ops.empty() ? 0 : state.op_end_ns[r].back());
  }
}

/// Sets the spans of sends and receives.
void setMessageSpans(const Program& program, const ReplayState& state, ModelTimeline& timeline) {
  for (std::size_t m = 0; m < program.messages.size(); ++m) {
    const Program::Message& message = program.messages[m];
    if (!state.messages[m].posted()) continue;
    const ClockSpan span{state.messages[m].start_ns, state.messages[m].end_ns};
    if (message.send_event != Program::kNone)
      timeline.spans[message.from.index()][message.send_event] = span;
    if (message.receive_event != Program::kNone)
      timeline.spans[message.to.index()][message.receive_event] = span;
  }
}

/// Sets the ends of training steps. An op without an event belongs to the step before it.
void setStepEnds(const Program& program, const ReplayState& state, ModelTimeline& timeline) {
  std::map<std::int32_t, std::int64_t> ends;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const Program::Rank& rank = program.ranks[r];
    std::int64_t* end = nullptr;
    std::int32_t step = 0;
    for (std::size_t o = 0; o < rank.ops.size(); ++o) {
      const std::uint32_t event = rank.ops[o].event;
      if (event != Program::kNone && (!end || rank.events[event].place.train_step != step)) {
        step = rank.events[event].place.train_step;
        end = &ends[step];
      }
      if (end) *end = std::max(*end, state.op_end_ns[r][o]);
    }
  }
  std::int64_t latest = 0;
  for (const auto& [step, end_ns] : ends) {
    latest = std::max(latest, end_ns);
    timeline.step_end_ns.emplace_back(step, latest);
  }
}

}  // namespace

std::optional<double> hiddenShare(std::int64_t hidden_ns, std::int64_t in_flight_ns) {
  if (in_flight_ns <= 0) return std::nullopt;
  return static_cast<double>(hidden_ns) / static_cast<double>(in_flight_ns);
}

void CommunicationSum::add(const WaitCost& cost) {
  bytes += cost.bytes;
  under_way_ns += cost.under_way_ns;
  hidden_ns += cost.hidden_ns;
  exposed_ns += cost.exposed_ns;
  late_ns += cost.late_ns;
  ++waits;
}

CommunicationSum& CommunicationSum::operator+=(const CommunicationSum& more) {
  bytes += more.bytes;
  under_way_ns += more.under_way_ns;
  hidden_ns += more.hidden_ns;
  exposed_ns += more.exposed_ns;
  late_ns += more.late_ns;
  waits += more.waits;
  return *this;
}

double ModelTimeline::stepNs() const {
  return step_end_ns.empty()
             ? 0
             : static_cast<double>(endNs()) / static_cast<double>(step_end_ns.size());
}

CommunicationSum ModelTimeline::sum(std::optional<WorldRank> rank) const {
  CommunicationSum sum;
  for (const WaitCost& cost : waits)
    if (!rank || *rank == cost.rank) sum.add(cost);
  return sum;
}

ModelTimeline replay(const Program& program, const Hardware& hardware,
                     const std::stop_token& stop) {
  const ReplayState state = replayState(program, hardware, stop);
  ModelTimeline timeline;
  setOpSpans(program, state, timeline);
  setMessageSpans(program, state, timeline);
  for (auto& spans : timeline.spans)
    for (ClockSpan& span : spans)
      if (span.end_ns < span.begin_ns) span = {};  // the event has no op
  setStepEnds(program, state, timeline);
  timeline.waits = waitCosts(program, state);
  timeline.critical_path = criticalPath(program, state);
  return timeline;
}

}  // namespace ringscope::traces
