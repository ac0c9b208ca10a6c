// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/scene_facts.h"

#include <algorithm>
#include <sstream>

namespace ringscope::facts {

viz::Cursor Look::cursor(const Case& c) const {
  viz::Cursor cursor;
  cursor.group = group;
  cursor.place = place();
  cursor.rank = traces::WorldRank::of(c.worldRankFor(group, rank));
  return cursor;
}

traces::Place Look::place() const {
  return {step, traces::Layer::of(layer),
          backward ? traces::Direction::kBackward : traces::Direction::kForward,
          traces::RingStep::of(ring_step)};
}

Look drawnLook(const Case& c, std::mt19937& random) {
  const auto below = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  Look look;
  look.group = below(c.groups());
  look.rank = below(c.cp);
  look.step = below(c.steps);
  look.layer = below(c.layers);
  look.backward = below(2) == 1;
  look.ring_step = below(c.oracle(look.step, look.group).ringSteps());
  return look;
}

std::string describe(const Look& look) {
  return "group " + std::to_string(look.group) + " rank " + std::to_string(look.rank) + ", " +
         traces::describe(look.place());
}

std::set<int> numbersIn(const std::string& list) {
  std::set<int> numbers;
  static const std::regex kPart("(\\d+)(?:–(\\d+))?");
  for (std::sregex_iterator at(list.begin(), list.end(), kPart), end; at != end; ++at) {
    const int first = std::stoi((*at)[1]), last = (*at)[2].matched ? std::stoi((*at)[2]) : first;
    for (int n = first; n <= last; ++n) numbers.insert(n);
  }
  return numbers;
}

std::string briefWords(Reason reason) {
  constexpr const char* kWords[] = {"", "future", "window", "documents", "several reasons"};
  return kWords[static_cast<int>(reason)];
}

std::string clauseWords(Reason reason) {
  constexpr const char* kWords[] = {"", "in these queries’ future", "left the window",
                                    "belong to other documents",
                                    "in the future, out of the window or of other documents"};
  return kWords[static_cast<int>(reason)];
}

std::vector<int> worlds(const Case& c, int group, const std::vector<int>& ranks) {
  std::vector<int> of_world;
  of_world.reserve(ranks.size());
  for (const int rank : ranks) of_world.push_back(c.worldRankFor(group, rank));
  return of_world;
}

std::set<int> chunksWith(const std::vector<std::vector<int>>& chunks, const std::set<int>& tokens) {
  std::set<int> found;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (std::ranges::any_of(chunks[i], [&](int token) { return tokens.contains(token); }))
      found.insert(static_cast<int>(i));
  return found;
}

std::vector<traces::Event> eventsFor(const Case& c, int world, const traces::Place& place) {
  std::vector<traces::Event> found;
  for (const traces::Event& event : c.trace->events(traces::WorldRank::of(world)))
    if (event.place == place) found.push_back(event);
  return found;
}

SeenRows seenRows(const Case& c, const Look& look, int rank, int ring_step) {
  const PlanOracle& oracle = c.oracle(look.step, look.group);
  SeenRows seen;
  if (ring_step < 0 || !c.stats) return seen;
  std::vector<int> keys;
  for (int step = 0; step <= ring_step; ++step)
    for (const int source : oracle.sources(rank, step, false))
      for (const int key : oracle.attended(source)) keys.push_back(key);
  const auto numbers = c.numbers(look.step, look.layer, look.group);
  double sum = 0;
  for (const int query : oracle.attended(rank)) {
    const bool any = std::ranges::any_of(keys, [&](int key) { return oracle.allowed(query, key); });
    if (any) seen.rows += std::int64_t{oracle.plan().batch} * oracle.headsEach();
    if (!any || !numbers) continue;
    for (int b = 0; b < oracle.plan().batch; ++b)
      for (int h = 0; h < oracle.headsEach(); ++h)
        sum += attend(oracle, *numbers, b, oracle.firstHead(rank) + h, query, keys).lse;
  }
  seen.mean = seen.rows > 0 && numbers ? sum / static_cast<double>(seen.rows) : std::nan("");
  return seen;
}

}  // namespace ringscope::facts
