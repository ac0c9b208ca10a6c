// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/report/finding_place.h"

#include <charconv>
#include <optional>
#include <sstream>

#include "traces/analysis/doctor/hang_finding.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

std::optional<std::int32_t> parseIndex(const std::string& text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string viewFor(const Finding& finding) {
  if (const Mistake* mistake = findMistake(finding.rule)) return mistake->view;
  return finding.rule == kHang ? "timeline" : "diff";
}

Place placeFor(const Finding& finding) {
  Place place = finding.place;
  if (place.layer.isNone()) place.layer = Layer::of(0);
  if (place.stage.isNone()) place.stage = RingStep::of(0);
  return place;
}

std::string positionText(const Place& place) {
  return std::to_string(place.train_step) + "," + toString(place.layer) + "," +
         name(place.direction) + "," + toString(place.stage);
}

Place parsePosition(const std::string& text, const std::string& option) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  const Error wrong =
      usageError(option + " " + text + " is not STEP,LAYER,forward|backward,RINGSTEP");
  if (parts.size() != 4 || (parts[2] != "forward" && parts[2] != "backward")) throw wrong;
  const auto step = parseIndex(parts[0]), layer = parseIndex(parts[1]),
             stage = parseIndex(parts[3]);
  if (!step || !layer || !stage) throw wrong;
  return {*step, Layer::of(*layer),
          parts[2] == "backward" ? Direction::kBackward : Direction::kForward,
          RingStep::of(*stage)};
}

std::string describeWhere(const Finding& finding) {
  std::string text =
      finding.rule + " · " + name(finding.confidence) + " · " + describe(finding.place);
  if (finding.rank.exists()) {
    text += " · rank " + toString(finding.rank);
    std::string group;
    for (const WorldRank rank : finding.group)
      group += (group.empty() ? "" : ", ") + toString(rank);
    if (finding.group.size() > 1) text += " · cp group " + group;
  }
  return text + (finding.buffer.empty() ? "" : " · " + finding.buffer);
}

}  // namespace ringscope::traces
