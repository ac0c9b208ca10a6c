// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/context_facts.h"

#include <algorithm>

#include "traces/format/core/utf8.h"
#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostNoted = 4096, kNotedLetters = 300;

WorldRank rankIn(const nlohmann::json& object) {
  const std::int64_t rank = wholeIn(object, "rank", -1);
  return rank >= 0 && rank < (1 << 20) ? WorldRank::of(rank) : WorldRank::none();
}

/// Calls `read` for each object of a list in a note.
template <typename Read>
void forEachIn(const nlohmann::json& list, Read&& read) {
  if (!list.is_array()) return;
  for (std::size_t i = 0; i < std::min(list.size(), kMostNoted); ++i)
    if (list[i].is_object()) read(list[i]);
}

}  // namespace

std::optional<std::vector<OutsideBackward>> outsideBackwards(const Trace& trace) {
  const nlohmann::json& note = trace.note(kOutsideNote);
  if (!note.is_array()) return std::nullopt;
  std::vector<OutsideBackward> all;
  forEachIn(note, [&](const nlohmann::json& one) {
    all.push_back({stepIn(one, "step"), rankIn(one), wholeIn(one, "attentions", 0),
                   toPlainText(textIn(one, "error"), kNotedLetters)});
  });
  return all;
}

nlohmann::json toJson(const OutsideBackward& backward) {
  return {{"step", backward.train_step},
          {"rank", toJson(backward.rank)},
          {"attentions", backward.attentions},
          {"error", backward.error}};
}

std::vector<UncutBuffer> uncutBuffers(const Trace& trace) {
  std::vector<UncutBuffer> all;
  forEachIn(trace.note(kUncutNote), [&](const nlohmann::json& one) {
    UncutBuffer buffer{stepIn(one, "step"),
                       rankIn(one),
                       toPlainText(textIn(one, "buffer"), kNotedLetters),
                       wholeIn(one, "seq_dim", 0),
                       {}};
    const auto shape = one.find("shape");
    if (shape != one.end() && shape->is_array())
      for (const nlohmann::json& extent : *shape)
        if (extent.is_number_unsigned()) buffer.shape.push_back(extent.get<std::int64_t>());
    all.push_back(std::move(buffer));
  });
  return all;
}

nlohmann::json toJson(const UncutBuffer& buffer) {
  return {{"step", buffer.train_step},
          {"rank", toJson(buffer.rank)},
          {"buffer", buffer.buffer},
          {"seq_dim", buffer.seq_dim},
          {"shape", buffer.shape}};
}

}  // namespace ringscope::traces
