// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/injected.h"

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/format/core/json.h"

namespace ringscope::viz {
namespace {

/// Nothing where no step is said.
std::optional<std::int64_t> findStep(const nlohmann::json& change) {
  const auto step = change.find("from_train_step");
  if (step == change.end() || !step->is_number_integer() || *step < 0) return std::nullopt;
  return step->get<std::int64_t>();
}

}  // namespace

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
    const bool added = json.value("control", nlohmann::json()) == "inject",
               taken_away = json.value("control", nlohmann::json()) == "lift";
    if (added && findStep(json) == 0 && json.contains("mistake"))
      from_start_.push_back(json["mistake"]);
    else if ((added || taken_away) && json.contains("mistake"))
      changes_.push_back({json["mistake"], taken_away, findStep(json)});
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
  for (const Change& change : changes_) {
    const QString step =
        change.from_train_step
            ? " from training step " + QString::number(*change.from_train_step) + " on"
            : " while it ran";
    found << describeAsked(change.mistake) + (change.taken_away ? ", taken away" : ", added") +
                 step;
  }
  return found.isEmpty() ? "✓ Nothing was injected." : "▲ Injected: " + found.join("; ");
}

}  // namespace ringscope::viz
