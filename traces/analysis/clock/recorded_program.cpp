// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/recorded_program.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "traces/analysis/clock/recorded_rank.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/stopped.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

/// Joins sends with receives, and the members of collectives, over all ranks.
class Joiner {
 public:
  Joiner(const std::vector<GroupRecord>& groups, RecordedProgram& recorded)
      : groups_(groups), recorded_(recorded) {}

  void add(std::size_t r, RecordedRank rank) {
    for (const RecordedRank::Transfer& transfer : rank.transfers)
      rank.rank.posted.push_back(addTransfer(r, transfer));
    std::vector<std::uint32_t> subjects;
    subjects.reserve(rank.collectives.size());
    for (const std::uint32_t e : rank.collectives) subjects.push_back(addCollective(r, e));
    for (Program::Op& op : rank.rank.ops)
      if (op.kind == Program::Op::Kind::kCollective) op.subject = subjects[op.subject];
    recorded_.program.ranks[r] = std::move(rank.rank);
  }

  /// Reports messages and collectives that were not recorded on all their ranks.
  void finish() {
    std::int64_t alone = 0;
    std::string first;
    for (const Program::Message& message : recorded_.program.messages) {
      if (message.from.exists() && message.to.exists()) continue;
      if (++alone > 1) continue;
      const bool sent = message.from.exists();
      const auto& rank = recorded_.events[(sent ? message.from : message.to).index()];
      const Event& event = rank[sent ? message.send_event : message.receive_event];
      first = "rank " + toString(event.rank) + (sent ? " sends to" : " receives from") + " rank " +
              toString(event.peer) + " at " + describe(event.place);
    }
    if (alone > 0)
      recorded_.lacks.push_back(describeCount(alone, "message") +
                                " recorded at one end only, the first: " + first +
                                "; record all ranks, or merge their files");
    for (std::size_t c = 0; c < expected_.size(); ++c) {
      Program::Collective& collective = recorded_.program.collectives[c];
      if (collective.members >= expected_[c]) continue;
      recorded_.lacks.push_back("a collective of " + describeCount(expected_[c], "rank") +
                                " recorded by " + std::to_string(collective.members) +
                                " of them only; record all ranks, or merge their files");
      break;
    }
    for (Program::Collective& collective : recorded_.program.collectives)
      collective.ranks = std::max(collective.ranks, collective.members);
  }

 private:
  std::uint32_t addTransfer(std::size_t r, const RecordedRank::Transfer& transfer) {
    auto& messages = recorded_.program.messages;
    const Event& event = recorded_.events[r][transfer.event];
    auto [at, added] = message_index_.try_emplace(event.flow, messages.size());
    const bool sends = event.kind == EventKind::kSend;
    // A flow is used once: a second send or receive with its number starts another message.
    if (!added && (sends ? messages[at->second].from : messages[at->second].to).exists())
      at->second = messages.size();
    if (at->second == messages.size()) messages.emplace_back();
    Program::Message& message = messages[at->second];
    message.bytes = std::max(message.bytes, event.bytes);
    (sends ? message.from : message.to) = WorldRank::of(r);
    (sends ? message.send_event : message.receive_event) = transfer.event;
    (sends ? message.send_exchange : message.receive_exchange) = transfer.exchange;
    return static_cast<std::uint32_t>(at->second);
  }

  std::uint32_t addCollective(std::size_t r, std::uint32_t e) {
    auto& collectives = recorded_.program.collectives;
    const Event& event = recorded_.events[r][e];
    const auto [at, added] = collective_index_.try_emplace(event.flow, collectives.size());
    if (added) {
      const auto group = std::ranges::find(groups_, event.group, &GroupRecord::id);
      const bool known = group != groups_.end();
      expected_.push_back(known ? static_cast<std::int32_t>(group->members.size()) : 1);
      collectives.push_back(
          {event.bytes, expected_.back(), 0, known ? group->axis : GroupAxis::kOther});
    }
    ++collectives[at->second].members;
    return static_cast<std::uint32_t>(at->second);
  }

  const std::vector<GroupRecord>& groups_;
  RecordedProgram& recorded_;
  std::unordered_map<std::uint64_t, std::size_t> message_index_, collective_index_;
  std::vector<std::int32_t> expected_;  ///< number of members, by collective
};

/// Collects what the events of all ranks lack for a model.
class Lacks {
 public:
  void look(const std::vector<Event>& events, const RecordedRank& rank) {
    std::int64_t worked = 0, took = 0;
    for (const Event& event : events) {
      const bool message = event.kind == EventKind::kSend || event.kind == EventKind::kReceive;
      const bool collective = event.kind == EventKind::kCollective;
      transfers_ += message || collective;
      unnamed_ += (message || collective) && event.flow == 0;
      lost_ += message && event.exchange == 0;
      pending_ += event.pending != 0;
      if (message || collective || event.kind == EventKind::kWait) continue;
      worked += ownTimeNs(event);
      took += event.duration();
      by_device_ |= event.clock == Clock::kDevice;
      by_host_ |= event.clock == Clock::kHost && isDeviceWork(event.kind) && event.duration() > 0;
    }
    lost_ += std::ssize(rank.lost_waits);
    without_cpu_ += took > 0 && worked == 0;
    empty_ += events.empty();
  }

  void describe(const StepEvents& step, std::vector<std::string>& lacks) const {
    // Advice about ringscope train does not help with another program's recording.
    const auto advice = [&](const char* text) { return step.foreign ? std::string() : text; };
    const auto add = [&](bool found, const std::string& sentence) {
      if (found) lacks.push_back(sentence);
    };
    add(empty_ > 0,
        describeCount(empty_, "rank") +
            " recorded no events in these training steps; record all ranks, or merge their files");
    add(without_cpu_ > 0, "no CPU time was recorded for the stages of " +
                              describeCount(without_cpu_, "rank") +
                              ", and their wall time holds whatever else ran there" +
                              advice("; a recording of ringscope train has CPU times"));
    add(by_device_ && by_host_,
        "a device did the work, and its clock was recorded for some stages only; the others have "
        "the time that it took to start them" +
            advice("; record it again, with this version of ringscope train"));
    add(unnamed_ > 0, describeCount(unnamed_) +
                          (unnamed_ == 1 ? " message or collective" : " messages or collectives") +
                          " not told which send belongs to which receive" +
                          advice("; a recording of ringscope train says so"));
    add(lost_ > 0,
        describeCount(lost_) + (lost_ == 1 ? " wait or message" : " waits or messages") +
            " without the number of its exchange, so nobody knows which wait is for which message" +
            advice("; a recording of ringscope train has it"));
    add(pending_ > 0,
        describeCount(pending_, "event") + " whose times never came: the recording was cut off");
    if (step.run)
      add(transfers_ == 0 && step.run->cp > 1,
          "it holds no messages, though " + std::to_string(step.run->cp) +
              " ranks share a sequence" + advice("; record with ringscope train --trace"));
    add(step.dropped > 0, describeCount(static_cast<std::int64_t>(step.dropped), "event") +
                              " dropped while recording; record fewer steps or values at once");
  }

 private:
  std::int64_t transfers_ = 0, unnamed_ = 0, lost_ = 0, pending_ = 0, without_cpu_ = 0, empty_ = 0;
  bool by_device_ = false, by_host_ = false;
};

/// Returns the time from the first begin to the last end, without pauses and verification.
std::int64_t recordedNs(const std::vector<std::vector<Event>>& ranks) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0, held = 0;
  for (const auto& events : ranks) {
    std::int64_t here = 0;
    for (const Event& event : events) {
      begin = std::min(begin, event.begin_ns);
      end = std::max(end, event.end_ns);
      if (event.kind == EventKind::kPause || event.kind == EventKind::kVerify)
        here += event.duration();
    }
    held = std::max(held, here);
  }
  return std::max<std::int64_t>(0, end - begin - held);
}

}  // namespace

std::size_t countEvents(const std::vector<std::vector<Event>>& of_rank) {
  std::size_t count = 0;
  for (const auto& events : of_rank) count += events.size();
  return count;
}

StepEvents stepEvents(const Trace& trace, std::int32_t first_step, std::int32_t last_step) {
  StepEvents step;
  const Place from{first_step, Layer::none(), Direction::kForward, RingStep::none()};
  const Place until{last_step, Layer::none(), Direction::kBackward,
                    RingStep::of(std::numeric_limits<RingStep::Value>::max())};
  for (int r = 0; r < trace.worldSize(); ++r)
    step.of_rank.push_back(trace.eventsAt(from, until, WorldRank::of(r)));
  if (trace.run()) step.run = *trace.run();
  step.groups = trace.groups();
  step.dropped = trace.end() ? trace.end()->dropped_events : 0;
  step.foreign = isForeign(trace);
  return step;
}

RecordedProgram recordedProgram(const Trace& trace, std::int32_t first_step,
                                std::int32_t last_step) {
  return recordedProgram(stepEvents(trace, first_step, last_step));
}

RecordedProgram recordedProgram(StepEvents step, const std::stop_token& stop) {
  RecordedProgram recorded;
  const std::int32_t world = step.run ? step.run->worldSize() : 0;
  recorded.own_cores = step.run && step.run->cores > 0 && world <= step.run->cores;
  recorded.events = std::move(step.of_rank);
  const bool recompute = step.run && step.run->recompute;
  const std::size_t ranks = std::max(recorded.events.size(), static_cast<std::size_t>(world));
  recorded.program.ranks.resize(ranks);
  recorded.events.resize(ranks);
  Joiner joiner(step.groups, recorded);
  Lacks lacks;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (stop.stop_requested()) throw Stopped();
    RecordedRank rank = recordedRank(recorded.events[r], recorded.own_cores, recompute);
    recorded.outside_ns += rank.outside_ns / static_cast<std::int64_t>(ranks);
    lacks.look(recorded.events[r], rank);
    joiner.add(r, std::move(rank));
  }
  joiner.finish();
  lacks.describe(step, recorded.lacks);
  recorded.recorded_ns = recordedNs(recorded.events);
  if (ranks == 0) recorded.lacks.push_back("it holds no events");
  if (!recorded.own_cores && recorded.outside_ns > 0)
    recorded.notes.push_back(
        "what ranks did between recorded stages is left out: their cores were "
        "shared, so its wall time says nothing");
  return recorded;
}

std::vector<std::int32_t> recordedSteps(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const Place& place : trace.moments()) steps.insert(place.train_step);
  if (steps.empty())
    for (int r = 0; r < trace.worldSize(); ++r)
      for (const Event& event : trace.events(WorldRank::of(r)))
        steps.insert(event.place.train_step);
  return {steps.begin(), steps.end()};
}

}  // namespace ringscope::traces
