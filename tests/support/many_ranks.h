// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/clock/program.h"

namespace ringscope::test {

/// Repeats a program `groups` times side by side and `steps` times in sequence, which makes a large
/// schedule from a small one. Collectives stay within their group.
inline traces::Program repeatProgram(const traces::Program& one, int groups, int steps) {
  traces::Program many;
  const std::size_t ranks = one.ranks.size();
  many.ranks.resize(ranks * static_cast<std::size_t>(groups));
  for (int step = 0; step < steps; ++step)
    for (int group = 0; group < groups; ++group) {
      const auto messages = static_cast<std::uint32_t>(many.messages.size());
      const auto collectives = static_cast<std::uint32_t>(many.collectives.size());
      const std::size_t first = static_cast<std::size_t>(group) * ranks;
      for (traces::Program::Message message : one.messages) {
        const auto of = [&](traces::WorldRank rank) -> traces::Program::Rank& {
          return many.ranks[first + rank.index()];
        };
        const auto moved = [](std::uint32_t index, std::size_t by) {
          return index == traces::Program::kNone ? index : index + static_cast<std::uint32_t>(by);
        };
        message.send_exchange = moved(message.send_exchange, of(message.from).exchanges.size());
        message.receive_exchange = moved(message.receive_exchange, of(message.to).exchanges.size());
        message.send_event = moved(message.send_event, of(message.from).events.size());
        message.receive_event = moved(message.receive_event, of(message.to).events.size());
        message.from = traces::WorldRank::of(first + message.from.index());
        message.to = traces::WorldRank::of(first + message.to.index());
        many.messages.push_back(message);
      }
      many.collectives.insert(many.collectives.end(), one.collectives.begin(),
                              one.collectives.end());
      for (std::size_t r = 0; r < ranks; ++r) {
        traces::Program::Rank& rank = many.ranks[first + r];
        const auto events = static_cast<std::uint32_t>(rank.events.size());
        const auto exchanges = static_cast<std::uint32_t>(rank.exchanges.size());
        const auto posted = static_cast<std::uint32_t>(rank.posted.size());
        for (traces::Program::Op op : one.ranks[r].ops) {
          if (op.event != traces::Program::kNone) op.event += events;
          if (op.kind == traces::Program::Op::Kind::kCollective)
            op.subject += collectives;
          else if (op.subject != traces::Program::kNone)
            op.subject += exchanges;
          rank.ops.push_back(op);
        }
        for (traces::Program::Happening event : one.ranks[r].events) {
          event.place.train_step = step;
          rank.events.push_back(event);
        }
        for (traces::Program::Exchange exchange : one.ranks[r].exchanges)
          rank.exchanges.push_back({exchange.first + posted, exchange.count});
        for (const std::uint32_t message : one.ranks[r].posted)
          rank.posted.push_back(message + messages);
      }
    }
  return many;
}

}  // namespace ringscope::test
