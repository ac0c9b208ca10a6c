// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/rank_file.h"

#include <algorithm>

#include "traces/exchange/import/kineto/event_values.h"
#include "traces/exchange/import/profile/rank_name.h"
#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

bool isCommunication(std::string_view operation) {
  return operation.starts_with("c10d::") || operation == "record_param_comms";
}

bool isBackward(std::string_view operation) {
  return operation.starts_with("autograd::engine::evaluate_function");
}

class RankFileReader {
 public:
  explicit RankFileReader(const std::string& path) { file_.path = path; }

  RankFile read(bool may_be_named) {
    readEvents(false);
    if (!file_.head.damage.empty()) readAgain();
    readHead();
    if (may_be_named && file_.rank.isNone() && file_.head.distributed.empty()) {
      file_.rank = rankInName(file_.path);
      file_.rank_from_name = file_.rank.exists();
    }
    std::vector<std::int32_t> groups;
    for (const NamedGroup& group : values_.groups()) groups.push_back(groupFor(group));
    for (Seen& comm : file_.comms) comm.group = groups[static_cast<std::size_t>(comm.group)];
    return std::move(file_);
  }

 private:
  void readEvents(bool cleaned) {
    file_.head = readKineto(
        file_.path, [this](const EventLabel& label) { return isRead(label); },
        [this](const KinetoEvent& event) { take(event); }, cleaned);
  }

  /// Reads a damaged file once more, without the values that are not valid JSON.
  void readAgain() {
    const std::string damage = file_.head.damage;
    RankFile empty;
    empty.path = file_.path;
    file_ = std::move(empty);
    values_ = EventValues();
    readEvents(true);
    if (!file_.head.damage.empty()) file_.head.damage = damage;  // its place is that in the file
  }

  static Seen seen(const KinetoEvent& event, std::string_view call = "") {
    Seen seen;
    seen.name = call;
    seen.begin_ns = event.begin_ns;
    seen.end_ns = event.end_ns;
    seen.thread = event.thread;
    seen.external = event.number(KinetoArgument::kExternalId).value_or(-1);
    return seen;
  }

  static Seen seenStage(const KinetoEvent& event) {
    Seen stage = seen(event);
    stage.stage = operatorStage(event.name).value_or(EventKind::kAttend);
    stage.names_backward = namesBackward(event.name);
    return stage;
  }

  /// Reports whether take() does anything with an event.
  bool isRead(const EventLabel& event) const {
    if (event.category == "kernel")
      return !file_.has_kernels || event.has_collective || isAttentionKernel(event.name);
    return event.category == "user_annotation" ||
           (event.category == "cpu_op" &&
            (isCommunication(event.name) || isBackward(event.name) || operatorStage(event.name)));
  }

  void take(const KinetoEvent& event) {
    if (event.category == "kernel") return takeKernel(event);
    if (event.category == "user_annotation") return takeAnnotation(event);
    if (event.category != "cpu_op") return;
    if (event.name.starts_with("c10d::")) return takePosting(event);
    if (event.name == "record_param_comms") return takeComm(event);
    if (isBackward(event.name))
      file_.backward[event.thread].push_back({event.begin_ns, event.end_ns});
    else if (operatorStage(event.name))
      file_.operators.push_back(seenStage(event));
  }

  void takeKernel(const KinetoEvent& event) {
    file_.has_kernels = true;
    const bool collective = event.has(KinetoArgument::kCollectiveName);
    if (!collective && !isAttentionKernel(event.name)) return;
    Seen kernel = collective ? seen(event) : seenStage(event);
    kernel.thread = event.number(KinetoArgument::kStream).value_or(0);
    (collective ? file_.kernels : file_.attention_kernels).push_back(kernel);
  }

  void takeAnnotation(const KinetoEvent& event) {
    if (const auto step = profilerStep(event.name)) {
      file_.steps.emplace_back(event.begin_ns, *step);
    } else if (event.name.starts_with("Optimizer.step#")) {
      file_.operators.push_back(seenStage(event));
    } else if (event.name.starts_with("gloo:")) {
      Seen range = seen(event, values_.callName(event.name));
      if (range.name.empty()) return;
      range.bytes = values_.inputBytes(event);
      file_.ranges.push_back(range);
    }
  }

  void takePosting(const KinetoEvent& event) {
    Seen posting = seen(event, values_.callName(event.name));
    if (posting.name.empty()) return;
    const bool message = posting.name == "send" || posting.name == "recv";
    constexpr std::size_t kPeer = 2, kTag = 3;  // arguments of c10d::send(tensors, group, peer,
                                                // tag)
    if (message && !event.name.starts_with("c10d::recv_any_source")) {
      const std::int64_t peer = concreteInput(event, kPeer);
      posting.peer_in_group = peer < kMaxRanks ? static_cast<std::int32_t>(peer) : -1;
      posting.tag = concreteInput(event, kTag);
    }
    file_.postings.push_back(posting);
  }

  void takeComm(const KinetoEvent& event) {
    Seen comm = seen(event, values_.callName(event.text(KinetoArgument::kCollectiveName)));
    if (comm.name.empty()) return;  // "wait" and "init" move no data
    const std::int64_t size = values_.elementBytes(event);
    const std::int64_t count = event.number(KinetoArgument::kElements).value_or(-1);
    if (size > 0 && count >= 0 && count <= kMaxElements) comm.bytes = count * size;
    comm.sequence = event.number(KinetoArgument::kSequence).value_or(-1);
    const auto peer = event.number(comm.name == "send" ? KinetoArgument::kDestinationRank
                                                       : KinetoArgument::kSourceRank);
    if ((comm.name == "send" || comm.name == "recv") && peer && *peer >= 0 && *peer < kMaxRanks)
      comm.peer = WorldRank::of(*peer);
    comm.group = static_cast<std::int32_t>(values_.groupIndex(event));
    file_.comms.push_back(comm);
  }

  void readHead() {
    const json& info = file_.head.distributed;
    if (info.contains("rank")) file_.rank = WorldRank::of(whole(info, "rank"));
    if (info.contains("world_size")) file_.world_size = whole(info, "world_size");
    const auto groups = info.find("pg_config");
    if (groups == info.end() || !groups->is_array()) return;
    for (const json& group : *groups) {
      if (!group.is_object() || !group.contains("ranks") || !group.contains("pg_name")) continue;
      NamedGroup named{
          group["pg_name"].is_string() ? toPlainText(group["pg_name"].get<std::string>(), 256) : "",
          listedRanks(group["ranks"])};
      if (holdsRank(named)) file_.groups.push_back(std::move(named));
    }
  }

  bool holdsRank(const NamedGroup& group) const {
    return file_.rank.exists() && std::ranges::count(group.members, file_.rank) > 0;
  }

  static std::int32_t whole(const json& info, const char* key) {
    const json& value = info[key];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMaxRanks) return -1;
    return value.get<std::int32_t>();
  }

  /// Returns the index of a group among the rank's groups. A group whose list of ranks was
  /// shortened is recognised by its name.
  std::int32_t groupFor(const NamedGroup& group) {
    const auto same = std::ranges::find_if(file_.groups, [&](const NamedGroup& known) {
      return known.name == group.name && (group.members.empty() || known.members == group.members);
    });
    const auto at = static_cast<std::int32_t>(same - file_.groups.begin());
    if (same != file_.groups.end()) return at;
    if (!holdsRank(group)) return -1;
    file_.groups.push_back(group);
    return at;
  }

  RankFile file_;
  EventValues values_;  ///< until all events were read, groups of file_.comms are indices of its
                        ///< groups
};

}  // namespace

RankFile readRankFile(const std::string& path, bool may_be_named) {
  return RankFileReader(path).read(may_be_named);
}

}  // namespace ringscope::traces
