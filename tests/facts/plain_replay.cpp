// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/plain_replay.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ringscope::facts {
namespace {

using Kind = traces::Program::Op::Kind;

std::int64_t wholeNs(double ns) {
  return static_cast<std::int64_t>(std::floor(ns + 0.5));
}

double bytesNs(const traces::Link& link, double bytes) {
  return link.gigabytes_per_second == 0 ? 0 : bytes / link.gigabytes_per_second;
}

/// A ring's 2(n − 1) steps of a share each, or a tree's of all bytes up and down.
std::int64_t allReduceNs(const traces::Link& link, double bytes, int ranks) {
  if (ranks < 2) return 0;
  const std::int64_t latency = wholeNs(link.latency_us * 1000);
  int depth = 0;
  while (1 << depth < ranks) ++depth;
  const std::int64_t ring =
      2 * (ranks - 1) * latency + wholeNs(bytesNs(link, 2.0 * (ranks - 1) / ranks * bytes));
  return std::min(ring, 2 * depth * (latency + wholeNs(bytesNs(link, bytes))));
}

}  // namespace

PlainReplay::PlainReplay(const traces::Program& program, const traces::Hardware& hardware)
    : messages(program.messages.size()),
      left(program.messages.size(), 0),
      ready(program.messages.size(), 0),
      collectives(program.collectives.size()),
      program_(program),
      hardware_(hardware),
      sender_posted_(program.messages.size(), 0),
      receiver_posted_(program.messages.size(), 0),
      posted_collectives_(program.collectives.size(),
                          std::vector<std::int64_t>(program.ranks.size(), 0)) {
  ops.resize(program.ranks.size());
  for (std::size_t r = 0; r < ops.size(); ++r) ops[r].resize(program.ranks[r].ops.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < ops.size(); ++r) changed |= goThrough(r);
    changed |= move();
  }
}

bool PlainReplay::goThrough(std::size_t rank) {
  std::int64_t now = 0;
  bool changed = false;
  std::map<std::uint32_t, bool> posted;
  for (std::size_t o = 0; o < ops[rank].size(); ++o) {
    const traces::Program::Op& op = program_.ranks[rank].ops[o];
    const When before = ops[rank][o];
    ops[rank][o].begin = now;
    if (op.kind == Kind::kWork)
      now += wholeNs(static_cast<double>(op.work_ns) / hardware_.compute_scale);
    if (op.kind == Kind::kPost && hardware_.overlap && !posted[op.subject]) {
      post(rank, op.subject, now);
      posted[op.subject] = true;
    }
    if (op.kind == Kind::kWait) {
      if (!posted[op.subject]) post(rank, op.subject, now);
      posted[op.subject] = true;
      now = std::max(now, doneOf(rank, op.subject));
    }
    if (op.kind == Kind::kCollective) {
      posted_collectives_[op.subject][rank] = now;
      now = std::max(now, collectives[op.subject].end);
    }
    ops[rank][o].end = now;
    changed |= before.begin != ops[rank][o].begin || before.end != now;
  }
  return changed;
}

void PlainReplay::post(std::size_t rank, std::uint32_t exchange, std::int64_t now) {
  const auto& of_rank = program_.ranks[rank];
  for (std::uint32_t i = 0; i < of_rank.exchanges[exchange].count; ++i) {
    const std::uint32_t m = of_rank.posted[of_rank.exchanges[exchange].first + i];
    const auto& message = program_.messages[m];
    if (message.from.index() == rank && message.send_exchange == exchange) sender_posted_[m] = now;
    if (message.to.index() == rank && message.receive_exchange == exchange)
      receiver_posted_[m] = now;
  }
}

std::int64_t PlainReplay::doneOf(std::size_t rank, std::uint32_t exchange) const {
  const auto& of_rank = program_.ranks[rank];
  std::int64_t done = 0;
  for (std::uint32_t i = 0; i < of_rank.exchanges[exchange].count; ++i) {
    const std::uint32_t m = of_rank.posted[of_rank.exchanges[exchange].first + i];
    const auto& message = program_.messages[m];
    const bool sends = message.from.index() == rank && message.send_exchange == exchange;
    done = std::max(done, sends ? left[m] : messages[m].end);
  }
  return done;
}

/// All messages between two ranks one after the other, as both ends have posted them.
bool PlainReplay::move() {
  const std::vector<When> before = messages, collectives_before = collectives;
  std::vector<std::size_t> order(messages.size());
  for (std::size_t m = 0; m < order.size(); ++m) {
    order[m] = m;
    ready[m] = std::max(sender_posted_[m], receiver_posted_[m]);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t m) { return ready[m]; });
  std::map<std::pair<int, int>, std::int64_t> busy_until;
  for (const std::size_t m : order) {
    const auto& message = program_.messages[m];
    std::int64_t& busy = busy_until[{message.from.value(), message.to.value()}];
    messages[m].begin = std::max(ready[m], busy);
    const auto wire = wholeNs(bytesNs(hardware_.link, static_cast<double>(message.bytes)));
    busy = left[m] = messages[m].begin + wire;
    messages[m].end = left[m] + wholeNs(hardware_.link.latency_us * 1000);
  }
  for (std::size_t k = 0; k < collectives.size(); ++k) {
    const auto& planned = program_.collectives[k];
    const bool tp = planned.axis == traces::GroupAxis::kTp && hardware_.tp_link;
    collectives[k].begin = *std::ranges::max_element(posted_collectives_[k]);
    collectives[k].end =
        collectives[k].begin + allReduceNs(tp ? *hardware_.tp_link : hardware_.link,
                                           static_cast<double>(planned.bytes), planned.ranks);
  }
  const auto same = [](const When& a, const When& b) {
    return a.begin == b.begin && a.end == b.end;
  };
  return !std::ranges::equal(before, messages, same) ||
         !std::ranges::equal(collectives_before, collectives, same);
}

std::int64_t PlainReplay::end() const {
  std::int64_t end = 0;
  for (std::size_t r = 0; r < ops.size(); ++r) end = std::max(end, endOf(r));
  return end;
}

PlainReplay::Cost PlainReplay::costOf(std::size_t r, std::size_t o) const {
  const auto& rank = program_.ranks[r];
  const auto& op = rank.ops[o];
  const When wait = ops[r][o];
  Cost cost;
  cost.exposed = wait.length();
  if (op.kind == Kind::kCollective) {
    cost.bytes = program_.collectives[op.subject].bytes;
    cost.late = collectives[op.subject].begin - wait.begin;
    return cost;
  }
  std::vector<When> moving;
  std::vector<std::int64_t> borders = {wait.begin};
  const auto& exchange = rank.exchanges[op.subject];
  for (std::uint32_t i = 0; i < exchange.count; ++i) {
    const std::uint32_t m = rank.posted[exchange.first + i];
    const auto& message = program_.messages[m];
    const bool sends = message.from.index() == r && message.send_exchange == op.subject;
    cost.bytes += sends ? 0 : message.bytes;
    moving.push_back({ready[m], sends ? left[m] : messages[m].end});
    borders.insert(borders.end(), {moving.back().begin, moving.back().end});
  }
  std::ranges::sort(borders);
  cost.late = cost.exposed;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    const std::int64_t from = borders[i], to = borders[i + 1];
    const bool any =
        std::ranges::any_of(moving, [&](const When& w) { return w.begin <= from && to <= w.end; });
    if (any)
      (to <= wait.begin ? cost.hidden : cost.late) += to <= wait.begin ? to - from : from - to;
  }
  return cost;
}

}  // namespace ringscope::facts
