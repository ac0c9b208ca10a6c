// SPDX-License-Identifier: Apache-2.0
// Why a step has no model: each lack that is named is counted among the recorded events, and each
// that is there is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>

#include "tests/facts/own_clock_facts.h"
#include "tests/facts/said.h"
#include "tests/facts/timeline_facts.h"

namespace ringscope::facts {
namespace {

using traces::Event;
using traces::EventKind;

/// Counts of the facts that a recording of a step lacks.
struct Lacks {
  std::int64_t empty = 0, without_cpu = 0, unnamed = 0, lost = 0, pending = 0, alone = 0;
  bool mixed_clocks = false, no_messages = false, no_ranks = false;
  std::set<std::pair<int, int>> collectives;  ///< of how many ranks, recorded by how many

  Lacks(const traces::Trace& trace, int train_step) {
    const traces::RunSpec* run = trace.run();
    const int ranks = std::max(trace.worldSize(), run ? run->dp * run->tp * run->cp : 0);
    no_ranks = ranks == 0;
    std::int64_t messages = 0;
    bool by_device = false, by_host = false;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto events = rank < trace.worldSize()
                              ? eventsOfSteps(trace, rank, train_step, train_step)
                              : std::vector<Event>();
      empty += events.empty();
      std::int64_t worked = 0, took = 0;
      std::set<std::pair<int, std::uint32_t>> exchanges;
      for (const Event& e : events)
        if (isUnderWay(e)) exchanges.insert({e.group.value(), e.exchange});
      for (const Event& e : events) {
        const bool collective = e.kind == EventKind::kCollective, wait = e.kind == EventKind::kWait;
        pending += e.pending > 0;
        messages += isUnderWay(e) || collective;
        unnamed += (isUnderWay(e) || collective) && e.flow == 0;
        lost += isUnderWay(e) && e.exchange == 0;
        lost += wait && (e.exchange == 0 || !exchanges.contains({e.group.value(), e.exchange}));
        if (isUnderWay(e) && e.exchange > 0) ends_[e.flow] += e.kind == EventKind::kSend ? 1 : -1;
        if (collective) take(trace, e);
        if (isUnderWay(e) || collective || wait) continue;
        const bool device = e.clock == traces::Clock::kDevice;
        worked += device ? e.duration() : e.cpu_ns;
        took += e.duration();
        by_device |= device;
        const bool held = e.kind == EventKind::kPause || e.kind == EventKind::kVerify;
        by_host |= !device && !held && e.duration() > 0;
      }
      without_cpu += took > 0 && worked == 0;
    }
    mixed_clocks = by_device && by_host;
    no_messages = messages == 0 && run && run->cp > 1;
    for (const auto& [flow, more] : ends_) alone += std::abs(more);
    for (const auto& [flow, each] : members_)
      if (each.second < each.first) collectives.insert(each);
  }

  int kinds() const {
    return (empty > 0) + (without_cpu > 0) + (unnamed > 0) + (lost > 0) + (pending > 0) +
           (alone > 0) + (mixed_clocks ? 1 : 0) + (no_messages ? 1 : 0) + (no_ranks ? 1 : 0) +
           (collectives.empty() ? 0 : 1);
  }

 private:
  void take(const traces::Trace& trace, const Event& e) {
    const auto group = std::ranges::find(trace.groups(), e.group, &traces::GroupRecord::id);
    const bool known = group != trace.groups().end();
    auto& [of, by] = members_[e.flow];
    if (by++ == 0) of = known ? static_cast<int>(group->members.size()) : 1;
  }

  std::map<std::uint64_t, int> ends_;                     ///< sends without receives, by flow
  std::map<std::uint64_t, std::pair<int, int>> members_;  ///< of collectives
};

/// Takes words that `pattern` finds out of them, and gives the number in them; none: 0.
std::int64_t takeCount(std::string& words, const std::string& pattern) {
  std::smatch found;
  if (!std::regex_search(words, found, std::regex(pattern))) return 0;
  std::string number = found[1];
  words = found.prefix().str() + found.suffix().str();
  std::erase(number, ',');
  return std::stoll(number);
}

bool takeWords(std::string& words, const std::string& said) {
  const auto at = words.find(said);
  if (at != std::string::npos) words.erase(at, said.size());
  return at != std::string::npos;
}

void expectCollectives(std::string& words, const Lacks& meant) {
  static const std::regex kOne("a collective of (\\d+) ranks? recorded by (\\d+) of them only");
  std::smatch found;
  const bool said = std::regex_search(words, found, kOne);
  EXPECT_EQ(said, !meant.collectives.empty());
  if (!said) return;
  EXPECT_TRUE(meant.collectives.contains({std::stoi(found[1]), std::stoi(found[2])}));
  words = found.prefix().str() + found.suffix().str();
}

/// Removes the advice that follows a lack: the capture that would contain the missing fact.
void takeAdvice(std::string& words) {
  words = std::regex_replace(
      words,
      std::regex("; record all ranks, or merge their files|; a recording of ringscope train (has "
                 "CPU times|says so|has it)|; record with ringscope train --trace|; record fewer "
                 "steps or values at once|; record it again, with this version of ringscope train"),
      "");
}

}  // namespace

bool expectWhyNoModel(const traces::Trace& trace, int train_step) {
  const std::string says =
      viz::whyNoModel(*viz::recordedStep(traces::stepEvents(trace, train_step, train_step)));
  SCOPED_TRACE(says);
  const Lacks meant(trace, train_step);
  std::string words = says;
  const std::string count = "([\\d,]+)";
  takeWords(words, "There is no model of this step with own devices: ");
  EXPECT_EQ(takeCount(words, count + " ranks? recorded no events in these training steps"),
            meant.empty);
  EXPECT_EQ(takeCount(words, "no CPU time was recorded for the stages of " + count +
                                 " ranks?, and their wall time holds whatever else ran there"),
            meant.without_cpu);
  EXPECT_EQ(takeWords(words,
                      "a device did the work, and its clock was recorded for some stages only; the "
                      "others have the time that it took to start them"),
            meant.mixed_clocks);
  EXPECT_EQ(takeCount(words, count + " messages? or collectives? not told which send belongs to "
                                     "which receive"),
            meant.unnamed);
  EXPECT_EQ(takeCount(words, count + " waits? or messages? without the number of its exchange, so "
                                     "nobody knows which wait is for which message"),
            meant.lost);
  EXPECT_EQ(takeCount(words, count + " events? whose times never came: the recording was cut off"),
            meant.pending);
  const std::int64_t alone =
      takeCount(words, count +
                           " messages? recorded at one end only, the first: rank \\d+ (?:sends "
                           "to|receives from) rank \\d+ at [^;.]*");
  if (meant.unnamed == 0) {  // who belongs to whom is not known of the unnamed
    EXPECT_EQ(alone, meant.alone);
    expectCollectives(words, meant);
  }
  const auto* run = trace.run();
  const std::string ranks = run ? std::to_string(run->cp) : "";
  EXPECT_EQ(takeWords(words, "it holds no messages, though " + ranks + " ranks share a sequence"),
            meant.no_messages);
  EXPECT_EQ(takeWords(words, "it holds no events"), meant.no_ranks);
  const std::int64_t dropped =
      trace.end() ? static_cast<std::int64_t>(trace.end()->dropped_events) : 0;
  EXPECT_EQ(takeCount(words, count + " events? dropped while recording"), dropped);
  takeAdvice(words);
  if (meant.unnamed > 0) return false;
  std::string between;
  for (int i = 1; i < meant.kinds() + (dropped > 0); ++i) between += "; ";
  EXPECT_EQ(words, says.empty() ? "" : between + ".") << "also said, or run together";
  return says.empty();
}

}  // namespace ringscope::facts
