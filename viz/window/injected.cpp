// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/injected.h"

#include "traces/core/json.h"
#include "traces/mistakes/asked_mistake.h"
#include "traces/mistakes/catalogue.h"

namespace ringscope::viz {

QString describeAsked(const nlohmann::json& asked) try {
  const auto parsed = traces::AskedMistake::parse(asked.get<std::string>());
  const auto* mistake = traces::findMistake(parsed.id);
  if (!mistake) return QString::fromStdString(asked.dump());
  return QString::fromStdString(mistake->title +
                                (parsed.isLimited() ? " (" + parsed.places() + ")" : ""));
} catch (const std::exception&) {
  return QString::fromStdString(asked.dump());
}

Injected::Injected(const std::vector<std::string>& documents) {
  for (const std::string& document : documents) {
    const auto json = traces::parseJson(document, "what was sealed");
    if (!json.is_object()) continue;
    if (const auto mistakes = json.find("mistakes"); mistakes != json.end())
      from_start_.insert(from_start_.end(), mistakes->begin(), mistakes->end());
    const auto step = json.find("from_train_step");
    if (json.contains("control") && json.contains("mistake"))
      changes_.push_back({json["mistake"], json["control"] == "lift",
                          step != json.end() && step->is_number_integer()
                              ? step->get<std::int64_t>()
                              : std::int64_t{0}});
  }
}

QStringList Injected::fromStart() const {
  QStringList all;
  for (const auto& asked : from_start_)
    if (asked.is_string()) all << QString::fromStdString(asked.get<std::string>());
  return all;
}

QString Injected::describe() const {
  QStringList found;
  for (const auto& asked : from_start_) found << describeAsked(asked);
  for (const Change& change : changes_)
    found << QString("%1, %2 from training step %3 on")
                 .arg(describeAsked(change.mistake), change.taken_away ? "taken away" : "added")
                 .arg(change.from_train_step);
  return found.isEmpty() ? "✓ Nothing was injected." : "▲ Injected: " + found.join("; ");
}

}  // namespace ringscope::viz
