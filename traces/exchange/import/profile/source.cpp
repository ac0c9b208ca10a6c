// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "traces/exchange/import/problem_source.h"
#include "traces/exchange/import/profile/job.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/framework.h"
#include "traces/format/schema/import_note.h"
#include "traces/format/trace/ending.h"

namespace ringscope::traces {
namespace {

class ProfileSource {
 public:
  ProfileSource(ProfiledJob job, std::optional<std::int64_t> start_ns)
      : job_(std::move(job)),
        given_start_ns_(start_ns),
        source_(std::make_shared<ProblemSource>(job_.problems)) {}

  std::shared_ptr<ChunkSource> make() {
    tellGroups(job_);
    matchCollectives(job_, matched_);
    matchMessages(job_, matched_);
    sayRanks(job_);
    if (!job_.is_aligned) {
      alignClocks(job_);
      placeUntimed(job_, given_start_ns_.value_or(0));
    }
    if (given_start_ns_)
      start_ns_ = *given_start_ns_;
    else
      findStart();
    addGroups();
    for (const ProfiledRank& rank : job_.ranks) add(eventsFor(rank));
    add(notes());
    source_->add(end_);
    return source_;
  }

 private:
  template <typename Record>
  void add(const std::vector<Record>& records) {
    if (records.empty()) return;
    end_.rows_by_kind[static_cast<std::size_t>(ChunkOf<Record>::kKind)] += records.size();
    source_->add(std::span<const Record>(records));
  }

  void findStart() {
    start_ns_ = std::numeric_limits<std::int64_t>::max();
    for (const ProfiledRank& rank : job_.ranks) {
      for (const Call& call : rank.calls) start_ns_ = std::min(start_ns_, call.posted_ns);
      for (const Event& stage : rank.stages) start_ns_ = std::min(start_ns_, stage.begin_ns);
    }
  }

  void addGroups() {
    std::vector<GroupRecord> records;
    for (const ProfiledRank& rank : job_.ranks)
      for (const NamedGroup& group : rank.groups) {
        const auto [at, added] =
            ids_.try_emplace({group.name, group.members}, GroupId::of(records.size()));
        if (!added) continue;
        const bool all = std::ssize(group.members) == rank.world_size;
        const bool first =
            std::ranges::find(records, GroupAxis::kWorld, &GroupRecord::axis) == records.end();
        records.push_back(
            {at->second, all && first ? GroupAxis::kWorld : GroupAxis::kOther, group.members});
      }
    add(records);
  }

  std::vector<Event> eventsFor(const ProfiledRank& rank) {
    std::vector<Event> events = rank.stages;
    for (Event& stage : events)
      for (std::int64_t* ns : {&stage.begin_ns, &stage.start_ns, &stage.end_ns}) *ns -= start_ns_;
    for (const Call& call : rank.calls) events.push_back(eventOf(rank, call));
    std::ranges::stable_sort(events, {}, &Event::end_ns);
    end_.events += events.size();
    if (!events.empty()) end_.run_clock_ns = std::max(end_.run_clock_ns, events.back().end_ns);
    return events;
  }

  Event eventOf(const ProfiledRank& rank, const Call& call) {
    Event event;
    event.kind = call.kind;
    event.rank = rank.rank;
    event.place.train_step = call.train_step;
    event.place.direction = call.direction;
    event.pass = call.direction == Direction::kBackward ? Pass::kBackward : Pass::kForward;
    event.begin_ns = call.posted_ns - start_ns_;
    event.start_ns = call.start_ns - start_ns_;
    event.end_ns = call.end_ns - start_ns_;
    event.bytes = std::max<std::int64_t>(call.bytes, 0);
    event.peer = call.peer;
    event.clock = call.clock;
    event.queue = call.queue;
    // A call without another side gets a flow of its own, so that it matches nothing else.
    event.flow = call.flow != 0 ? call.flow : kFirstUnmatched + ++unmatched_;
    if (call.group >= 0) {
      const NamedGroup& group = rank.groups[static_cast<std::size_t>(call.group)];
      event.group = ids_.at({group.name, group.members});
    }
    return event;
  }

  std::vector<Note> notes() {
    const nlohmann::json said = {{"format", job_.format},
                                 {"collectives", matched_.collectives},
                                 {"messages", matched_.messages},
                                 {"unmatched_collectives", matched_.unmatched_collectives},
                                 {"unmatched_messages", matched_.unmatched_messages},
                                 {"standing", job_.standing},
                                 {"lacks", job_.lacks}};
    return {{kFrameworkNote, nlohmann::json(name(Framework::kPyTorch)).dump()},
            {kImportNote, said.dump()},
            {kEndedNote, endedNote({HowEnded::kFinished, ""})}};
  }

  static constexpr std::uint64_t kFirstUnmatched = std::uint64_t{1} << 48;
  ProfiledJob job_;
  std::optional<std::int64_t> given_start_ns_;
  std::shared_ptr<ProblemSource> source_;
  Matched matched_;
  EndRecord end_{0, 0, 0, 0, noRows()};
  std::int64_t start_ns_ = 0;
  std::map<std::pair<std::string, std::vector<WorldRank>>, GroupId> ids_;
  std::uint64_t unmatched_ = 0;
};

}  // namespace

std::shared_ptr<ChunkSource> makeSource(ProfiledJob job, std::optional<std::int64_t> start_ns) {
  return ProfileSource(std::move(job), start_ns).make();
}

}  // namespace ringscope::traces
