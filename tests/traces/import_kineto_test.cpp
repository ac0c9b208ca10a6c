// SPDX-License-Identifier: Apache-2.0
// Real profiles of four Gloo processes (tests/reference/kineto/make.py), whole and damaged.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/write_trace.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using test::anySays;

const std::string kProfiles = test::inSources("tests/reference/kineto");

/// A copy that can be damaged.
class ProfileCopy : public test::RecordingCopy {
 public:
  ProfileCopy() : RecordingCopy(kProfiles) {}
  void changeAll(const std::string& name, const std::string& from, const std::string& to) const {
    std::string all = text(name);
    for (std::size_t at = 0; (at = all.find(from, at)) != std::string::npos; at += to.size())
      all.replace(at, from.size(), to);
    put(name, all);
  }
};

std::vector<Event> eventsFor(const Trace& trace, int rank, EventKind kind) {
  std::vector<Event> events;
  for (const Event& event : trace.events(WorldRank::of(rank)))
    if (event.kind == kind) events.push_back(event);
  return events;
}

std::map<std::uint64_t, std::vector<Event>> byFlow(const Trace& trace, EventKind kind) {
  std::map<std::uint64_t, std::vector<Event>> flows;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : eventsFor(trace, rank, kind)) flows[event.flow].push_back(event);
  return flows;
}

const GroupRecord& groupFor(const Trace& trace, GroupId id) {
  return *std::ranges::find(trace.groups(), id, &GroupRecord::id);
}

TEST(ImportKineto, MatchesEveryCollectiveAndEveryMessageOfAJob) {
  const auto trace = openTrace(kProfiles);
  EXPECT_TRUE(trace->problems().empty()) << trace->problems().front();
  EXPECT_EQ(trace->worldSize(), 4);
  const auto imported = importedFrom(*trace);
  ASSERT_TRUE(imported);
  EXPECT_EQ(describe(*imported),
            "PyTorch profiler · 27 collectives and 54 messages matched over ranks, 0 calls without "
            "the others");
}

TEST(ImportKineto, ACollectiveHasTheMembersOfItsGroup) {
  const auto trace = openTrace(kProfiles);
  std::map<std::size_t, int> of_size;
  for (const auto& [flow, members] : byFlow(*trace, EventKind::kCollective)) {
    const GroupRecord& group = groupFor(*trace, members.front().group);
    std::set<WorldRank> ranks;
    for (const Event& member : members) {
      ranks.insert(member.rank);
      EXPECT_EQ(member.group, group.id);
      EXPECT_EQ(member.bytes, members.front().bytes);
    }
    EXPECT_EQ(ranks, std::set(group.members.begin(), group.members.end()));
    ++of_size[members.size()];
    // Only the sum of 50 numbers is over pairs.
    EXPECT_EQ(members.front().bytes == 200, members.size() == 2);
  }
  EXPECT_EQ(of_size, (std::map<std::size_t, int>{{2, 6}, {4, 21}}));
}

TEST(ImportKineto, AMessageGoesFromItsSenderToItsReceiver) {
  const auto trace = openTrace(kProfiles);
  const auto sends = byFlow(*trace, EventKind::kSend),
             receives = byFlow(*trace, EventKind::kReceive);
  ASSERT_EQ(sends.size(), 54U);
  for (const auto& [flow, send] : sends) {
    ASSERT_EQ(send.size(), 1U);
    ASSERT_TRUE(receives.contains(flow));
    const Event &from = send.front(), &to = receives.at(flow).front();
    EXPECT_EQ(from.peer, to.rank);
    EXPECT_EQ(to.peer, from.rank);
    EXPECT_EQ(from.bytes, to.bytes);
    const int sender = from.rank.value();
    const std::map<std::int64_t, int> receiver = {// ring, pair, across
                                                  {512, (sender + 1) % 4},
                                                  {384, sender ^ 1},
                                                  {28, sender + 2}};
    EXPECT_EQ(to.rank.value(), receiver.at(from.bytes));
    EXPECT_GE(to.end_ns, from.begin_ns);
  }
}

TEST(ImportKineto, AReduceScatterOfGlooIsOneCollectiveOfAllItsParts) {
  const auto trace = openTrace(kProfiles);
  const auto calls = eventsFor(*trace, 2, EventKind::kCollective);
  EXPECT_EQ(calls.size(), 3U * 8);
  // 32 numbers in bfloat16 for each of four ranks, as large as the gathered result.
  EXPECT_EQ(std::ranges::count(calls, 4 * 32 * 2, &Event::bytes), 3 * 2);
}

TEST(ImportKineto, OperatorsAreStagesOfTheTrainingStepsThatWereMarked) {
  const auto trace = openTrace(kProfiles);
  for (const EventKind kind : {EventKind::kEmbed, EventKind::kLoss, EventKind::kOptimizer,
                               EventKind::kAttend, EventKind::kCollective}) {
    std::set<std::int32_t> steps;
    for (const Event& event : eventsFor(*trace, 1, kind)) steps.insert(event.place.train_step);
    EXPECT_EQ(steps, (std::set{1, 2, 3})) << name(kind);
  }
  const auto attends = eventsFor(*trace, 0, EventKind::kAttend);
  ASSERT_EQ(attends.size(), 6U);
  EXPECT_EQ(attends[0].place.direction, Direction::kForward);
  EXPECT_EQ(attends[1].place.direction, Direction::kBackward);
  EXPECT_LE(attends[0].end_ns, attends[1].begin_ns);
}

TEST(ImportKineto, TimesCountFromTheEarliestAndKeepTheirNanoseconds) {
  const auto trace = openTrace(kProfiles);
  std::int64_t first = trace->endNs();
  bool finer = false;
  for (int rank = 0; rank < 4; ++rank)
    for (const Event& event : trace->events(WorldRank::of(rank))) {
      first = std::min(first, event.begin_ns);
      finer = finer || event.begin_ns % 1000 != 0;
      EXPECT_LE(event.begin_ns, event.start_ns);
      EXPECT_LE(event.start_ns, event.end_ns);
    }
  EXPECT_EQ(first, 0);
  EXPECT_TRUE(finer);
  EXPECT_LT(trace->endNs(), 10'000'000'000);
}

TEST(ImportKineto, SaysWhatAProfileLacksAndKeepsItInTheFile) {
  const test::TempDir dir;
  writeTrace(kProfiles, dir.file("mine.rscope"));
  const auto trace = openTrace(dir.file("mine.rscope"));
  EXPECT_EQ(findFramework(*trace), Framework::kPyTorch);
  const auto imported = importedFrom(*trace);
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->messages, 54);
  EXPECT_TRUE(anySays(imported->lacks, "no position ids"));
  EXPECT_TRUE(anySays(imported->lacks, "ringscope.record("));
  EXPECT_TRUE(anySays(imported->lacks, "does not name the process group"));
  EXPECT_FALSE(anySays(imported->lacks, "missing"));
}

TEST(ImportKineto, NoRuleSaysAnythingOfAProfile) {
  const Diagnosis diagnosis = diagnose(*openTrace(kProfiles));
  EXPECT_EQ(diagnosis.count(Verdict::kFound), 0);
  EXPECT_EQ(diagnosis.count(Verdict::kClear), 0);
  EXPECT_EQ(headline(diagnosis),
            "– Nothing could be looked for: what the rules need is not recorded");
}

TEST(ImportKineto, ReportsUnknownPeersWithoutShapes) {
  const ProfileCopy copy;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string file = "rank" + std::to_string(rank) + ".json";
    copy.change(file, "\"record_shapes\": 1", "\"record_shapes\": 0");
    for (const char* argument : {"Concrete Inputs", "Input Dims", "Input type"})
      copy.changeAll(file, argument, "left out");
  }
  const auto trace = openTrace(copy.path());
  const auto imported = importedFrom(*trace);
  EXPECT_EQ(imported->collectives, 27);
  EXPECT_EQ(imported->messages, 0);
  EXPECT_EQ(imported->unmatched_messages, 108);
  EXPECT_TRUE(anySays(imported->lacks, "who sends to whom are unknown"));
}

TEST(ImportKineto, ShowsTheOtherRanksWhenOneIsMissing) {
  const ProfileCopy copy;
  std::filesystem::remove(copy.file("rank3.json"));
  const auto trace = openTrace(copy.path());
  const auto imported = importedFrom(*trace);
  EXPECT_TRUE(anySays(imported->lacks, "the files of rank 3 of 4 are missing"));
  EXPECT_EQ(imported->unmatched_collectives, 0);
  EXPECT_GT(imported->unmatched_messages, 0);
  EXPECT_TRUE(trace->events(WorldRank::of(3)).empty());
}

TEST(ImportKineto, OneFileAloneIsOneRankOfItsJob) {
  const auto imported = importedFrom(*openTrace(kProfiles + "/rank2.json"));
  ASSERT_TRUE(imported);
  EXPECT_TRUE(anySays(imported->lacks, "the files of ranks 0, 1 and 3 of 4 are missing"));
}

/// Adds a second file for each rank: the same steps, counted on from 4, ten seconds later.
void addLaterWindow(const ProfileCopy& copy) {
  for (int rank = 0; rank < 4; ++rank) {
    std::string text = copy.text("rank" + std::to_string(rank) + ".json");
    for (const auto& [from, to] :
         std::map<std::string, std::string>{{"ProfilerStep#1", "ProfilerStep#4"},
                                            {"ProfilerStep#2", "ProfilerStep#5"},
                                            {"ProfilerStep#3", "ProfilerStep#6"},
                                            {": 1790857026000000000", ": 1790857036000000000"}})
      text.replace(text.find(from), from.size(), to);
    copy.put("later" + std::to_string(rank) + ".json", text);
  }
}

TEST(ImportKineto, WindowsOfOneRunAreShownOneAfterTheOther) {
  const ProfileCopy copy;
  addLaterWindow(copy);
  const auto one = openTrace(kProfiles), both = openTrace(copy.path());
  EXPECT_TRUE(anySays(importedFrom(*both)->lacks, "in up to 2 windows"));
  EXPECT_EQ(both->eventCount(), 2 * one->eventCount());
  EXPECT_EQ(importedFrom(*both)->collectives, 2 * importedFrom(*one)->collectives);
  EXPECT_EQ(importedFrom(*both)->messages, 2 * importedFrom(*one)->messages);
  std::set<std::int32_t> steps;
  for (const Event& event : both->events(WorldRank::of(2))) steps.insert(event.place.train_step);
  EXPECT_EQ(steps, (std::set<std::int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(ImportKineto, FilesThatAreOfNoOneJobAreRefused) {
  const ProfileCopy twice;
  twice.put("again.json", twice.text("rank1.json"));
  EXPECT_ERROR(openTrace(twice.path()), ErrorCode::kInput, "are both of rank 1");
  const ProfileCopy larger;
  larger.change("rank1.json", "\"world_size\": 4", "\"world_size\": 8");
  EXPECT_ERROR(openTrace(larger.path()), ErrorCode::kInput, "is of a job of 4 ranks");
  const ProfileCopy other;
  other.change("rank1.json", "\"ranks\": [0, 1, 2, 3]", "\"ranks\": [0, 1, 3, 2]");
  EXPECT_ERROR(openTrace(other.path()), ErrorCode::kInput,
               "other members in the process group '0'");
  const ProfileCopy later;
  later.change("rank1.json", "\"baseTimeNanoseconds\": 1", "\"baseTimeNanoseconds\": 2");
  EXPECT_ERROR(openTrace(later.path()), ErrorCode::kInput, "more than a week apart");
  const ProfileCopy unknown;
  unknown.change("rank1.json", "\"rank\": 1", "\"rank\": \"one\"");
  EXPECT_ERROR(openTrace(unknown.path()), ErrorCode::kInput, "does not say which rank");
}

TEST(ImportKineto, ReadsThePlaceableEventsOfATruncatedFile) {
  const ProfileCopy copy;
  const std::string whole = copy.text("rank1.json");
  copy.put("rank1.json", whole.substr(0, whole.size() / 2));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), "could not be read to its end"));
  EXPECT_TRUE(anySays(trace->problems(), "none of its events can be placed"));
  EXPECT_TRUE(trace->events(WorldRank::of(1)).empty());
  EXPECT_FALSE(trace->events(WorldRank::of(0)).empty());
}

TEST(ImportKineto, LeavesOutAndCountsImpossibleEvents) {
  const ProfileCopy copy;
  copy.change("rank1.json", "\"ts\":4", "\"ts\":1e400,\"was\":4");
  copy.change("rank2.json", "\"dur\":", "\"dur\":-");
  copy.change("rank3.json", "\"ts\":4", "\"ts\":\"soon\",\"was\":4");
  copy.changeAll("rank0.json", "\"Input Dims\":[[50]]", "\"Input Dims\":[[99999999999999,-1]]");
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), "rank1.json"));
  for (const char* file : {"rank2.json: 1 event", "rank3.json: 1 event"})
    EXPECT_TRUE(anySays(trace->problems(), file)) << file;
}

TEST(ImportKineto, RejectsAFileThatIsNoProfile) {
  const ProfileCopy copy;
  const auto refuses = [&](const std::string& text, const char* words) {
    copy.put("one.json", text);
    EXPECT_ERROR(openTrace(copy.file("one.json")), ErrorCode::kInput, words);
  };
  refuses("\x1f\x8b\x08 compressed", "is not a RingScope trace");
  refuses("{\"schemaVersion\": 1, \"traceEvents\": []}", "holds no collective");
  refuses("{\"schemaVersion\": 1", "is cut or no JSON");
  refuses("{\"schemaVersion\": 1, \"traceEvents\": " + std::string(1000, '['), "nested more than");
  refuses("{\"traceEvents\": []}", "is not a RingScope trace");
}

}  // namespace
}  // namespace ringscope::traces
