// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/attention_facts.h"

#include <cmath>
#include <map>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// The recorded facts about one layer. An argument of the call counts more than an attribute of the
/// module, which counts more than a call without the argument. An argument of 1 / √d may stand for
/// a scale that was lost on the way, so that an attribute counts more than that.
struct LayerFacts {
  std::optional<double> called, of_module, softcap, window;
  bool without_argument = false, is_usual = false;

  /// Reads a call of attention, or of an operator within an annotated attention. Attention
  /// of the job itself without a scale says nothing.
  void addCall(const Line& line) {
    if (!called) called = line.real("scale");
    const auto shape = line.wholes("q_shape");
    const double usual = shape.empty() ? 0 : 1 / std::sqrt(static_cast<double>(shape.back()));
    is_usual = called && std::abs(*called - usual) <= 1e-5 * usual;
    const bool is_whole = line.kind() == "attention" && !isOfJob(line);
    without_argument = without_argument || is_whole || line.flag("default_scale");
  }

  nlohmann::json json() const {
    nlohmann::json facts = nlohmann::json::object();
    const bool by_call = called && !(of_module && is_usual);
    if (called || of_module) facts["scale"] = by_call ? *called : *of_module;
    if (called || of_module || without_argument)
      facts["scale_by"] = by_call ? "call" : of_module ? "model" : "default";
    if (softcap) facts["softcap"] = *softcap;
    if (window) facts["window"] = *window;
    return facts;
  }
};

}  // namespace

std::string attentionFacts(const RecordedJob& job) {
  std::map<std::int64_t, LayerFacts> layers;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      const std::int64_t layer = line.whole("layer");
      if (layer < 0 || layer > kMaxLayers) continue;
      const bool is_call = line.kind() == "attention" || line.kind() == "block";
      if (is_call && line.text("direction") == "forward") layers[layer].addCall(line);
      if (line.kind() != "attention_module") continue;
      layers[layer].of_module = line.real("scale");
      layers[layer].softcap = line.real("softcap");
      layers[layer].window = line.real("window");
    }
  nlohmann::json note = nlohmann::json::object();
  for (const auto& [layer, facts] : layers)
    if (const nlohmann::json known = facts.json(); !known.empty())
      note[std::to_string(layer)] = known;
  return note.dump();
}

}  // namespace ringscope::traces
