// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/flight_recorder/dump.h"

#include <algorithm>
#include <charconv>

#include "traces/exchange/import/content.h"
#include "traces/exchange/import/flight_recorder/pickle.h"
#include "traces/exchange/import/profile/spelling.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

/// Returns the rank in a file's name: "nccl_trace_rank_12.json" belongs to rank 12.
WorldRank rankOfName(const std::string& path) {
  const std::string name = nameWithoutEndings(path);
  std::size_t digits = 0;
  while (digits < name.size() && digits < 6 &&
         std::isdigit(static_cast<unsigned char>(name[name.size() - 1 - digits])) != 0)
    ++digits;
  std::int32_t rank = -1;
  std::from_chars(name.data() + name.size() - digits, name.data() + name.size(), rank);
  if (digits == 0 || rank >= kMaxRanks)
    throw inputError(path +
                     ": a dump does not say of which rank it is, so the name of its file "
                     "must end with the rank, as in nccl_trace_rank_3.json");
  return WorldRank::of(rank);
}

std::int64_t wholeIn(const json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_number_integer()) return -1;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() >> 62) return -1;
  return found->get<std::int64_t>();
}

std::string textIn(const json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? toPlainText(found->get<std::string>(), 256)
                                                    : "";
}

/// Returns the bytes of an entry's tensors from their sizes and types; −1 when sizes and types do
/// not match.
std::int64_t bytesFrom(const json& entry, const char* sizes_key, const char* types_key) {
  const auto sizes = entry.find(sizes_key), types = entry.find(types_key);
  if (sizes == entry.end() || types == entry.end() || !sizes->is_array() || !types->is_array() ||
      sizes->size() != types->size())
    return -1;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    std::int64_t size =
        (*types)[i].is_string() ? elementBytes((*types)[i].get_ref<const std::string&>()) : 0;
    if (size == 0 || !(*sizes)[i].is_array()) return -1;
    for (const json& extent : (*sizes)[i]) {
      if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > kMaxElements) return -1;
      const auto rows = extent.get<std::int64_t>();
      if (rows > 0 && size > kMaxBytes / rows) return -1;
      size *= rows;
    }
    bytes += size;
    if (bytes > kMaxBytes) return -1;
  }
  return bytes;
}

/// Returns the other side in "send 1->2" or "recv 3<-0", as a rank of the group.
std::int32_t peerIn(const std::string& name, bool sends) {
  const std::string arrow = sends ? "->" : "<-";
  const std::size_t at = name.find(arrow);
  std::int32_t peer = -1;
  if (at != std::string::npos)
    std::from_chars(name.data() + at + 2, name.data() + name.size(), peer);
  return peer < kMaxRanks ? peer : -1;
}

/// Returns the innermost line of an entry's stack that is not of PyTorch itself.
std::string lineOfJob(const json& entry) {
  const auto frames = entry.find("frames");
  if (frames == entry.end() || !frames->is_array()) return "";
  for (const json& frame : *frames) {
    if (!frame.is_object()) continue;
    const std::string file = textIn(frame, "filename");
    if (file.empty() || file.find("/torch/") != std::string::npos || file.starts_with('<'))
      continue;
    return file.substr(file.rfind('/') + 1) + ":" + std::to_string(wholeIn(frame, "line")) + " (" +
           textIn(frame, "name") + ")";
  }
  return "";
}

class DumpReader {
 public:
  explicit DumpReader(const std::string& path) : path_(path) {
    dump_.rank.file = path;
    dump_.rank.rank = rankOfName(path);
  }

  Dump read() {
    const json whole = document();
    if (!whole.is_object()) throw inputError(path_ + " is no dump of the Flight Recorder");
    const std::string version = textIn(whole, "version");
    if (!version.starts_with("2."))
      throw inputError(path_ + ": is a dump of version '" + version +
                       "'; this program reads versions 2.x");
    readGroups(whole);
    const auto entries = whole.find("entries");
    if (entries != whole.end() && entries->is_array())
      for (const json& entry : *entries) readEntry(entry);
    return std::move(dump_);
  }

 private:
  json document() {
    const FileContent content = readContent(path_, kMaxJsonBytes);
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(content.bytes.data());
    if (!isPickle({begin, content.bytes.size()})) return parseJson(content.bytes, path_);
    PickledValue pickled = parsePickle(content.bytes, path_);
    dump_.damage = content.damage.empty() ? pickled.damage : content.damage;
    return std::move(pickled.value);
  }

  void readGroups(const json& whole) {
    const auto groups = whole.find("pg_config");
    if (groups == whole.end() || !groups->is_object()) return;
    for (const auto& [name, group] : groups->items()) {
      if (!group.is_object()) continue;
      NamedGroup named{toPlainText(name, 256), membersIn(textIn(group, "ranks"))};
      if (named.members.empty()) continue;
      if (std::ranges::count(named.members, dump_.rank.rank) == 0)
        throw inputError(path_ + " is named as rank " + toString(dump_.rank.rank) +
                         "'s, which its process group '" + named.name + "' does not hold");
      dump_.names_members = true;
      dump_.rank.groups.push_back(std::move(named));
    }
  }

  /// Returns the ranks of a list that is given as text: "[0, 1, 2]".
  static std::vector<WorldRank> membersIn(const std::string& text) {
    const json list = json::parse(text, nullptr, false);
    std::vector<WorldRank> members;
    if (!list.is_array() || list.size() > kMaxRanks) return {};
    for (const json& rank : list) {
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= kMaxRanks) return {};
      members.push_back(WorldRank::of(rank.get<std::int64_t>()));
      if (std::ranges::count(members, members.back()) > 1) return {};
    }
    return members;
  }

  void readEntry(const json& json_entry) {
    if (!json_entry.is_object()) return void(++dump_.left_out);
    const std::string name = textIn(json_entry, "profiling_name");
    DumpEntry entry;
    Call& call = entry.call;
    call.name = callName(name);
    if (call.name.empty()) return;  // a "coalesced" entry accompanies the entries of its parts
    call.posted_ns = wholeIn(json_entry, "time_created_ns");
    constexpr std::int64_t kMostNs = 4'000'000'000'000'000'000;
    if (call.posted_ns <= 0 || call.posted_ns > kMostNs) return void(++dump_.left_out);
    entry.is_gloo = name.starts_with("gloo:");
    entry.where = lineOfJob(json_entry);
    const bool sends = call.name == "send", receives = call.name == "recv";
    call.kind = sends ? EventKind::kSend : receives ? EventKind::kReceive : EventKind::kCollective;
    call.bytes = receives ? bytesFrom(json_entry, "output_sizes", "output_dtypes")
                          : bytesFrom(json_entry, "input_sizes", "input_dtypes");
    if (!sends && !receives) call.sequence = wholeIn(json_entry, "collective_seq_id");
    call.group = groupFor(json_entry);
    readPeer(call, name, sends || receives);
    readTimes(entry, json_entry);
    dump_.entries.push_back(std::move(entry));
  }

  void readPeer(Call& call, const std::string& name, bool is_message) {
    if (!is_message) return;
    call.peer_in_group = peerIn(name, call.kind == EventKind::kSend);
    const auto& members = dump_.rank.groups[static_cast<std::size_t>(call.group)].members;
    if (call.peer_in_group >= 0 && call.peer_in_group < std::ssize(members))
      call.peer = members[static_cast<std::size_t>(call.peer_in_group)];
  }

  void readTimes(DumpEntry& entry, const json& json_entry) const {
    Call& call = entry.call;
    const std::string state = textIn(json_entry, "state");
    const std::int64_t started = wholeIn(json_entry, "time_discovered_started_ns"),
                       completed = wholeIn(json_entry, "time_discovered_completed_ns");
    const auto within = [&](std::int64_t ns) {
      return ns >= call.posted_ns && ns - call.posted_ns < kMaxTimeNs;
    };
    entry.started = state == "started" || state == "completed";
    call.completes = state == "completed" && within(completed);
    const auto retired = json_entry.find("retired");
    entry.timed_out = state != "completed" && retired != json_entry.end() &&
                      retired->is_boolean() && retired->get<bool>();
    call.end_ns = call.completes ? completed : call.posted_ns;
    call.start_ns = within(started) && started <= call.end_ns ? started : call.posted_ns;
  }

  /// Returns the index of an entry's group. A group whose ranks the dump does not list has only
  /// this rank until all dumps are read.
  std::int32_t groupFor(const json& entry) {
    const auto named = entry.find("process_group");
    const std::string name =
        named != entry.end() && named->is_array() && !named->empty() && named->front().is_string()
            ? toPlainText(named->front().get<std::string>(), 256)
            : "";
    auto& groups = dump_.rank.groups;
    const auto known = std::ranges::find(groups, name, &NamedGroup::name);
    if (known != groups.end()) return static_cast<std::int32_t>(known - groups.begin());
    groups.push_back({name, {}});
    return static_cast<std::int32_t>(std::ssize(groups) - 1);
  }

  std::string path_;
  Dump dump_;
};

}  // namespace

Dump readDump(const std::string& path) {
  return DumpReader(path).read();
}

}  // namespace ringscope::traces
