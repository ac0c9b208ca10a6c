// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/rank_file.h"

#include <algorithm>
#include <charconv>

#include "traces/exchange/import/profile/rank_name.h"
#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

/// Returns the number of elements of a shape; −1 when it is no valid shape.
std::int64_t elements(const json& shape) {
  std::int64_t count = 1;
  for (const json& extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kMaxElements) return -1;
    const auto size = extent.get<std::int64_t>();
    if (size > 0 && count > kMaxElements / size) return -1;
    count *= size;
  }
  return count;
}

/// Returns the bytes of the tensors that an operator was called with; −1 when shapes or types were
/// not recorded.
std::int64_t inputBytes(const KinetoEvent& event) {
  const auto dims = event.args.find("Input Dims"), types = event.args.find("Input type");
  if (dims == event.args.end() || types == event.args.end() || !dims->is_array() ||
      !types->is_array() || dims->size() != types->size() || dims->empty())
    return -1;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const std::int64_t size =
        (*types)[i].is_string() ? elementBytes((*types)[i].get_ref<const std::string&>()) : 0;
    const std::int64_t count = (*dims)[i].is_array() ? elements((*dims)[i]) : -1;
    if (size == 0 || count < 0 || bytes + count * size > kMaxBytes) return -1;
    bytes += count * size;
  }
  return bytes;
}

std::vector<WorldRank> ranksOf(const json& list) {
  std::vector<WorldRank> ranks;
  if (!list.is_array() || list.size() > kMaxRanks) return {};
  for (const json& rank : list) {
    if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= kMaxRanks) return {};
    ranks.push_back(WorldRank::of(rank.get<std::int64_t>()));
    if (std::ranges::count(ranks, ranks.back()) > 1) return {};
  }
  return ranks;
}

/// Returns a list of ranks that is written as text, "[0, 1, 2]"; empty when the text was shortened.
std::vector<WorldRank> ranksIn(const std::string& text) {
  return text.size() > 60'000 ? std::vector<WorldRank>()
                              : ranksOf(json::parse(text, nullptr, false));
}

/// Returns the integer at an index of an operator's recorded inputs, or −1.
std::int64_t concreteInput(const KinetoEvent& event, std::size_t at) {
  const auto inputs = event.args.find("Concrete Inputs");
  if (inputs == event.args.end() || !inputs->is_array() || inputs->size() <= at ||
      !(*inputs)[at].is_string())
    return -1;
  const auto& text = (*inputs)[at].get_ref<const std::string&>();
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

bool isCommunication(std::string_view operation) {
  return operation.starts_with("c10d::") || operation == "record_param_comms";
}

bool isBackward(std::string_view operation) {
  return operation.starts_with("autograd::engine::evaluate_function");
}

/// Reports whether an operator shows which part of a model runs.
bool showsTheModel(std::string_view operation) {
  return operation.starts_with("aten::embedding") ||
         operation.starts_with("aten::cross_entropy_loss") ||
         (operation.starts_with("aten::") && operation.find("attention") != std::string::npos);
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
    for (Seen& comm : file_.comms) comm.group = groupFor(comm_groups_[indexOf(comm)]);
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
    comm_groups_.clear();
    readEvents(true);
    if (!file_.head.damage.empty()) file_.head.damage = damage;  // its place is that in the file
  }

  std::size_t indexOf(const Seen& comm) const {
    return static_cast<std::size_t>(&comm - file_.comms.data());
  }

  static Seen seen(const KinetoEvent& event, std::string name) {
    Seen seen;
    seen.name = std::move(name);
    seen.begin_ns = event.begin_ns;
    seen.end_ns = event.end_ns;
    seen.thread = event.thread;
    seen.external = event.number("External id").value_or(-1);
    return seen;
  }

  /// Reports whether take() does anything with an event.
  bool isRead(const EventLabel& event) const {
    if (event.category == "kernel")
      return !file_.has_kernels || event.has_collective || isAttentionKernel(event.name);
    return event.category == "user_annotation" ||
           (event.category == "cpu_op" &&
            (isCommunication(event.name) || isBackward(event.name) || showsTheModel(event.name)));
  }

  void take(const KinetoEvent& event) {
    if (event.category == "kernel") return takeKernel(event);
    if (event.category == "user_annotation") return takeAnnotation(event);
    if (event.category != "cpu_op") return;
    if (event.name.starts_with("c10d::")) return takePosting(event);
    if (event.name == "record_param_comms") return takeComm(event);
    if (isBackward(event.name))
      file_.backward[event.thread].push_back(seen(event, ""));
    else if (showsTheModel(event.name))
      file_.operators.push_back(seen(event, event.name));
  }

  void takeKernel(const KinetoEvent& event) {
    file_.has_kernels = true;
    const bool attention = isAttentionKernel(event.name);
    if (event.args.contains("Collective name"))
      file_.kernels.push_back(seen(event, ""));
    else if (attention)
      file_.attention_kernels.push_back(seen(event, event.name));
    else
      return;
    auto& kernels = attention ? file_.attention_kernels : file_.kernels;
    kernels.back().thread = event.number("stream").value_or(0);
  }

  void takeAnnotation(const KinetoEvent& event) {
    constexpr std::string_view kStep = "ProfilerStep#";
    if (event.name.starts_with(kStep)) {
      std::int32_t step = -1;
      std::from_chars(event.name.data() + kStep.size(), event.name.data() + event.name.size(),
                      step);
      if (step >= 0) file_.steps.emplace_back(event.begin_ns, step);
    } else if (event.name.starts_with("Optimizer.step#")) {
      file_.operators.push_back(seen(event, event.name));
    } else if (event.name.starts_with("gloo:")) {
      Seen range = seen(event, callName(event.name));
      if (range.name.empty()) return;
      range.bytes = inputBytes(event);
      file_.ranges.push_back(std::move(range));
    }
  }

  void takePosting(const KinetoEvent& event) {
    Seen posting = seen(event, callName(event.name));
    if (posting.name.empty()) return;
    const bool message = posting.name == "send" || posting.name == "recv";
    constexpr std::size_t kPeer = 2, kTag = 3;  // arguments of c10d::send(tensors, group, peer,
                                                // tag)
    if (message && !event.name.starts_with("c10d::recv_any_source")) {
      const std::int64_t peer = concreteInput(event, kPeer);
      posting.peer_in_group = peer < kMaxRanks ? static_cast<std::int32_t>(peer) : -1;
      posting.tag = concreteInput(event, kTag);
    }
    file_.postings.push_back(std::move(posting));
  }

  void takeComm(const KinetoEvent& event) {
    Seen comm = seen(event, callName(event.text("Collective name")));
    if (comm.name.empty()) return;  // "wait" and "init" move no data
    const std::int64_t size = elementBytes(event.text("dtype"));
    const std::int64_t count = event.number("In msg nelems").value_or(-1);
    if (size > 0 && count >= 0 && count <= kMaxElements) comm.bytes = count * size;
    comm.sequence = event.number("Seq").value_or(-1);
    const auto peer = event.number(comm.name == "send" ? "Dst Rank" : "Src Rank");
    if ((comm.name == "send" || comm.name == "recv") && peer && *peer >= 0 && *peer < kMaxRanks)
      comm.peer = WorldRank::of(*peer);
    NamedGroup group{event.text("Process Group Name"), ranksIn(event.text("Process Group Ranks"))};
    file_.comms.push_back(std::move(comm));
    comm_groups_.push_back(std::move(group));
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
          ranksOf(group["ranks"])};
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
  std::vector<NamedGroup> comm_groups_;  ///< group of each element of file_.comms
};

}  // namespace

RankFile readRankFile(const std::string& path, bool may_be_named) {
  return RankFileReader(path).read(may_be_named);
}

}  // namespace ringscope::traces
