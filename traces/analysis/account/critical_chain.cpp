// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/account/critical_chain.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "traces/analysis/account/own_clock.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/shared_cores.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

namespace {

void addMessage(CriticalChain& chain, const OwnClock& clock, const CriticalPart& part) {
  const Program::Message& message = clock.recorded->program.messages[part.message];
  const std::size_t from = message.from.index();
  const Event& sent = clock.events[from][message.send_event];
  const std::int64_t moves = std::clamp(sent.begin_ns, part.span.begin_ns, part.span.end_ns);
  const LaneKind lane = eventLane(sent);
  if (moves > part.span.begin_ns)
    chain.links.push_back({message.from, lane, part.span.begin_ns, moves, ChainLink::Kind::kWait});
  if (part.span.end_ns > moves)
    chain.links.push_back({message.from, lane, moves, part.span.end_ns, ChainLink::Kind::kMove});
}

}  // namespace

std::shared_ptr<const CriticalChain> criticalChain(const OwnClock& clock) {
  auto chain = std::make_shared<CriticalChain>();
  for (const CriticalPart& part : clock.timeline.critical_path) {
    if (part.message != Program::kNone) {
      addMessage(*chain, clock, part);
      continue;
    }
    const bool work = part.kind == CriticalPart::Kind::kWork;
    chain->links.push_back({part.rank, work ? LaneKind::kCompute : LaneKind::kCollective,
                            part.span.begin_ns, part.span.end_ns,
                            work ? ChainLink::Kind::kWork : ChainLink::Kind::kMove});
  }
  return chain;
}

ChainAccount chainAccount(const CriticalChain& chain) {
  ChainAccount account;
  std::map<WorldRank, std::int64_t> ranks;
  for (const ChainLink& link : chain.links) {
    (link.kind == ChainLink::Kind::kWork   ? account.computing_ns
     : link.kind == ChainLink::Kind::kMove ? account.sending_ns
                                           : account.waiting_ns) += link.length();
    ranks[link.rank] += link.length();
  }
  account.ranks.assign(ranks.begin(), ranks.end());
  std::ranges::stable_sort(account.ranks, std::greater(),
                           [](const auto& each) { return each.second; });
  return account;
}

AccountSection chainSection(const CriticalChain& chain) {
  const ChainAccount account = chainAccount(chain);
  AccountSection section{"CRITICAL PATH", {}, {}};
  const auto row = [&](const std::string& what, std::int64_t ns) {
    const double share =
        static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(1, account.allNs()));
    section.rows.emplace_back(what, describeDuration(ns) + " · " + describeShare(share));
  };
  row("computing", account.computing_ns);
  row("sending", account.sending_ns);
  row("waiting", account.waiting_ns);
  constexpr std::size_t kMost = 4;
  for (std::size_t i = 0; i < std::min(kMost, account.ranks.size()); ++i)
    row("in rank " + toString(account.ranks[i].first), account.ranks[i].second);
  if (account.ranks.size() > kMost)
    section.rows.emplace_back(
        "in other ranks",
        describeDuration(
            std::accumulate(account.ranks.begin() + kMost, account.ranks.end(), std::int64_t{0},
                            [](std::int64_t sum, const auto& each) { return sum + each.second; })));
  return section;
}

AccountSection whyNoRecordedChain(const RecordedProgram& recorded, const Trace& trace) {
  AccountSection section{"CRITICAL PATH", {}, "Not known as recorded: "};
  const RunSpec* run = trace.run();
  if (!recorded.lacks.empty()) {
    for (const std::string& lack : recorded.lacks)
      section.sentence += (&lack == &recorded.lacks.front() ? "" : "; ") + lack;
    section.sentence += ".";
    return section;
  }
  section.sentence +=
      sharesCores(trace)
          ? describeCount(run->worldSize(), "virtual rank") + " took turns on " +
                describeCount(run->cores, "core") +
                ", and which of them kept another from its core is not recorded."
          : std::string("the recording does not say that each rank had a core of its own.");
  section.sentence += " Own devices (O) have one, by the model.";
  return section;
}

}  // namespace ringscope::traces
