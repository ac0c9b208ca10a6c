// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/waits/standing.h"

#include <algorithm>

#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostPosted = 256, kMostLast = 32, kMostGroups = 4096;

std::optional<Post> postIn(const Line& line, const char* key) {
  if (!line.has(key)) return std::nullopt;
  const Line said = line.part(key);
  Post post{said.text("operator"), said.text("group"), said.whole("nth", 0), said.whole("bytes", 0),
            said.rank("from"),     said.rank("to"),    said.whole("tag", 0)};
  if (post.operation.empty() || post.nth < 1) return std::nullopt;
  return post;
}

Posted postedOf(const Line& said) {
  Posted posted{said.text("group"), said.text("kind"),    said.rank("from"),
                said.rank("to"),    said.whole("tag", 0), said.whole("nth", 0)};
  const nlohmann::json all = said.json();
  const auto last = all.find("last");
  if (last == all.end() || !last->is_array()) return posted;
  for (const auto& one : *last) {
    if (!one.is_array() || one.size() != 3 || posted.last.size() == kMostLast) continue;
    const Line named(nlohmann::json({{"nth", one[0]}, {"operator", one[1]}, {"bytes", one[2]}}));
    posted.last.push_back({named.whole("nth", 0), named.text("operator"), named.whole("bytes", 0)});
  }
  return posted;
}

std::string placeFor(const Line& at) {
  const std::string file = at.text("file"), function = at.text("function");
  if (file.empty()) return "";
  return file + ":" + std::to_string(at.whole("number", 0)) +
         (function.empty() ? "" : " (" + function + ")");
}

}  // namespace

Standing Standing::of(const Line& line) {
  Standing standing;
  standing.quiet_ns = line.whole("quiet_ns", 0);
  standing.train_step = line.place(Direction::kForward).train_step;
  standing.in = postIn(line, "in");
  standing.in_ns = line.part("in").whole("since_ns", 0);
  standing.newest = postIn(line, "last");
  standing.at = placeFor(line.part("at"));
  standing.broken = line.flag("broken");
  for (const Line& one : line.parts("posted"))
    if (standing.posted.size() < kMostPosted) standing.posted.push_back(postedOf(one));
  const Line groups = line.part("groups");
  const nlohmann::json by_name = groups.json();
  for (const auto& [name, members] : by_name.items())
    if (standing.members.size() < kMostGroups) standing.members[name] = groups.ranks(name);
  return standing;
}

const Posted* Standing::of(const Post& post, const std::string& kind) const {
  const auto found = std::ranges::find_if(posted, [&](const Posted& one) {
    return one.group == post.group && one.kind == kind && one.from == post.from &&
           one.to == post.to && one.tag == post.tag;
  });
  return found == posted.end() ? nullptr : &*found;
}

}  // namespace ringscope::traces
