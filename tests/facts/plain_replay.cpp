// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/plain_replay.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace ringscope::facts {

using traces::Link;
using traces::Program;
using Op = Program::Op;

namespace {

/// Sweeps until two messages are taken to want one link by turns, each because of the other.
constexpr std::size_t kAtLeast = 200;

std::int64_t latencyMeant(const Link& link) {
  return std::llround(link.latency_us * 1e3);
}

}  // namespace

std::int64_t wireMeant(const Link& link, std::int64_t bytes) {
  const double rate = link.gigabytes_per_second;
  return rate > 0 ? std::llround(static_cast<double>(bytes) / rate) : 0;
}

std::int64_t workMeant(const Op& op, const traces::Hardware& hardware) {
  const std::int64_t scaled =
      std::llround(static_cast<double>(op.work_ns) / hardware.compute_scale);
  const std::int64_t starts = std::llround(op.kernels * hardware.floors.kernel_us * 1000);
  return std::max(scaled, starts);
}

std::int64_t allReduceMeant(const Link& link, std::int64_t bytes, int ranks, double floor_us) {
  if (ranks <= 1) return 0;
  const double rate = link.gigabytes_per_second;
  const double share = 2.0 * (ranks - 1) / ranks;
  const std::int64_t wire = rate > 0 ? std::llround(share * static_cast<double>(bytes) / rate) : 0;
  int depth = 0;
  while ((1 << depth) < ranks) ++depth;
  return std::max(std::min(2 * (ranks - 1) * latencyMeant(link) + wire,
                           2 * depth * (latencyMeant(link) + wireMeant(link, bytes))),
                  static_cast<std::int64_t>(std::llround(floor_us * 1e3)));
}

PlainReplay::Cost& PlainReplay::Cost::operator+=(const Cost& other) {
  bytes += other.bytes;
  under_way += other.under_way;
  hidden += other.hidden;
  exposed += other.exposed;
  late += other.late;
  return *this;
}

PlainReplay::PlainReplay(const Program& program, const traces::Hardware& hardware)
    : moves(program.messages.size()),
      collectives(program.collectives.size(), {kNever, kNever}),
      program_(program),
      hardware_(hardware) {
  for (std::size_t m = 0; m < program.messages.size(); ++m) {
    const Program::Message& message = program.messages[m];
    exchanges_[{message.from.index(), message.send_exchange}].push_back({m, true});
    exchanges_[{message.to.index(), message.receive_exchange}].push_back({m, false});
  }
  for (const Program::Rank& rank : program.ranks)
    ops.emplace_back(rank.ops.size(), Times{kNever, kNever});
  std::size_t sweeps = 0, most = kAtLeast;
  for (const auto& of_rank : ops) most = std::max(most, 2 * of_rank.size());
  for (bool changes = true; changes && sweeps <= most; ++sweeps) {
    const auto ops_before = ops;
    const auto moves_before = moves;
    const auto collectives_before = collectives;
    runRanks();
    joinCollectives();
    moveMessages();
    changes = ops != ops_before || moves != moves_before || collectives != collectives_before;
  }
  tied_ |= sweeps > most;
  drawEvents();
}

void PlainReplay::runRanks() {
  posted.assign(program_.messages.size(), {kNever, kNever});
  joined_.assign(program_.collectives.size(), {});
  for (std::size_t r = 0; r < ops.size(); ++r) {
    std::int64_t now = 0;
    for (std::size_t o = 0; o < ops[r].size(); ++o) {
      const Op& op = program_.ranks[r].ops[o];
      const std::int64_t begin = now;
      const Exchange exchange{r, op.subject};
      if (begin >= kNever) {
        ops[r][o] = {kNever, kNever};
        continue;
      }
      if (op.kind == Op::Kind::kWork) now += workMeant(op, hardware_);
      if (op.kind == Op::Kind::kPost && hardware_.overlap) post(exchange, now);
      if (op.kind == Op::Kind::kWait) {
        post(exchange, now);
        now = std::max(now, arrivalTime(exchange));
      }
      if (op.kind == Op::Kind::kCollective) {
        joined_[op.subject].push_back(now);
        now = std::max(now, collectives[op.subject].end);
      }
      ops[r][o] = {begin, now};
    }
  }
}

void PlainReplay::post(const Exchange& exchange, std::int64_t now) {
  for (const End& end : exchanges_[exchange]) {
    std::int64_t& at = posted[end.message][end.sends ? 0 : 1];
    at = std::min(at, now);
  }
}

/// A sender waits until the bytes have left, a receiver until they are there.
std::int64_t PlainReplay::arrivalTime(const Exchange& exchange) const {
  std::int64_t last = 0;
  for (const End& end : exchanges_.at(exchange))
    last = std::max(last, end.sends ? moves[end.message].left : moves[end.message].end);
  return last;
}

void PlainReplay::joinCollectives() {
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    const Program::Collective& planned = program_.collectives[c];
    collectives[c] = {kNever, kNever};
    if (std::ssize(joined_[c]) < planned.members) continue;
    const bool tp = planned.axis == traces::GroupAxis::kTp && hardware_.tp_link;
    const Link& link = tp ? *hardware_.tp_link : hardware_.link;
    const std::int64_t ready = std::ranges::max(joined_[c]);
    collectives[c] = {ready, ready + allReduceMeant(link, planned.bytes, planned.ranks,
                                                    hardware_.floors.collective_us)};
  }
}

/// Moves messages in the order in which they ask for a link. A message asks for its sender's link
/// when both ends have posted it, and for its receiver's link when its first byte arrives. At equal
/// times the nearest receiver after the sender comes first, then the recording's order counts.
void PlainReplay::moveMessages() {
  const Link& link = hardware_.link;
  const auto ranks = static_cast<int>(ops.size());
  std::set<Want> wanted;
  for (std::size_t m = 0; m < moves.size(); ++m) {
    moves[m].ready = std::max(posted[m][0], posted[m][1]);
    if (moves[m].ready >= kNever) continue;
    const int from = program_.messages[m].from.value(), to = program_.messages[m].to.value();
    const int distance = (to - from + ranks) % ranks;
    wanted.insert({moves[m].ready, distance, m, false});
    if (moves[m].start < kNever)
      wanted.insert({moves[m].start + latencyMeant(link), distance, m, true});
  }
  struct Wire {
    std::int64_t busy_until = 0;
    Want last{-1};
  };
  std::map<std::tuple<char, int, int>, Wire> wires;
  tied_ = false;
  for (const Want& want : wanted) {
    const std::size_t m = want.message;
    const int from = program_.messages[m].from.value(), to = program_.messages[m].to.value();
    const std::int64_t takes = wireMeant(link, program_.messages[m].bytes);
    const std::int64_t least = moves[m].ready + std::llround(hardware_.floors.collective_us * 1e3);
    if (want.arrives && !link.shared) {  // nobody else uses it
      moves[m].end = std::max(want.at + takes, least);
      continue;
    }
    std::tuple<char, int, int> which{'o', want.arrives ? to : from, 0};
    if (!link.shared && link.full_duplex) which = {'p', from, to};
    if (!link.shared && !link.full_duplex) which = {'p', std::min(from, to), std::max(from, to)};
    if (want.arrives && link.full_duplex) which = {'i', to, 0};
    Wire& wire = wires[which];
    tied_ |= wire.last.at == want.at && !isOrdered(wire.last, want);
    wire.last = want;
    const std::int64_t begin = std::max(want.at, wire.busy_until);
    wire.busy_until = begin + takes;
    if (!want.arrives) moves[m].start = begin;
    (want.arrives ? moves[m].end : moves[m].left) = std::max(begin + takes, least);
  }
}

/// Which exchange, posted last, let a message go; of both at once: none.
PlainReplay::Exchange PlainReplay::lastPost(std::size_t m) const {
  const Program::Message& message = program_.messages[m];
  if (posted[m][0] == posted[m][1]) return {m, Program::kNone};
  return posted[m][0] > posted[m][1] ? Exchange{message.from.index(), message.send_exchange}
                                     : Exchange{message.to.index(), message.receive_exchange};
}

/// Reports whether a rule orders two requests. Messages that are posted at 0 or by one post are
/// known before any of them moves, and so are arrivals when latency is above 0. Messages that do
/// not keep a link busy may come in any order.
bool PlainReplay::isOrdered(const Want& a, const Want& b) const {
  const auto takes = [&](const Want& want) {
    return wireMeant(hardware_.link, program_.messages[want.message].bytes);
  };
  if (takes(a) == 0 && takes(b) == 0) return true;
  if (a.arrives && b.arrives) return latencyMeant(hardware_.link) > 0;
  if (a.arrives || b.arrives) return false;
  return a.at == 0 || lastPost(a.message) == lastPost(b.message);
}

void PlainReplay::drawEvents() {
  for (std::size_t r = 0; r < ops.size(); ++r) {
    auto& events = events_.emplace_back(program_.ranks[r].events.size(), Times{-1, -1});
    for (std::size_t o = 0; o < ops[r].size(); ++o) {
      const std::uint32_t e = program_.ranks[r].ops[o].event;
      if (e == Program::kNone) continue;
      if (events[e].begin < 0) events[e].begin = ops[r][o].begin;
      events[e].end = ops[r][o].end;
    }
    for (Times& never : events)
      if (never.begin < 0) never = {};
  }
  for (std::size_t m = 0; m < moves.size(); ++m) {
    const Program::Message& message = program_.messages[m];
    const Times moved{moves[m].start, moves[m].end};
    events_[message.from.index()][message.send_event] = moved;
    events_[message.to.index()][message.receive_event] = moved;
  }
}

bool PlainReplay::ends() const {
  return end() < kNever;
}

std::int64_t PlainReplay::end() const {
  std::int64_t last = 0;
  for (const auto& rank : ops)
    if (!rank.empty()) last = std::max(last, rank.back().end);
  return last;
}

/// Asks of every moment between two borders whether something of it is under way.
PlainReplay::Cost PlainReplay::cost(std::size_t rank, std::size_t o) const {
  const Op& op = program_.ranks[rank].ops[o];
  const Times& stood = ops[rank][o];
  std::vector<Times> under_way;
  Cost cost;
  if (op.kind == Op::Kind::kCollective) {
    cost.bytes = program_.collectives[op.subject].bytes;
    under_way.push_back(collectives[op.subject]);
  } else {
    for (const End& end : exchanges_.at({rank, op.subject})) {
      const Move& move = moves[end.message];
      if (!end.sends) cost.bytes += program_.messages[end.message].bytes;
      under_way.push_back({move.ready, end.sends ? move.left : move.end});
    }
  }
  std::set<std::int64_t> borders{stood.begin, stood.end};
  for (const Times& each : under_way) borders.insert({each.begin, each.end});
  for (auto at = borders.begin(); std::next(at) != borders.end(); ++at) {
    const std::int64_t length = *std::next(at) - *at;
    const bool waits = *at >= stood.begin && *at < stood.end;
    const bool moves_now = std::ranges::any_of(
        under_way, [&](const Times& each) { return each.begin <= *at && *at < each.end; });
    if (moves_now) cost.under_way += length;
    if (moves_now && !waits) cost.hidden += length;
    if (waits) cost.exposed += length;
    if (waits && !moves_now) cost.late += length;
  }
  return cost;
}

}  // namespace ringscope::facts
