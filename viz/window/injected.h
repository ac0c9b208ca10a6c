// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ringscope::viz {

/// The injected mistakes by the sealed documents of a recording, for Reveal and for repeated runs.
class Injected {
 public:
  /// Documents that say nothing of mistakes are passed over. Throws inputError on a document that
  /// is not JSON.
  explicit Injected(const std::vector<std::string>& documents);

  /// The mistakes that the run began with, as they were requested.
  QStringList fromStart() const;
  /// A mistake was added, or taken away, while it ran: no new run makes that again.
  bool changed() const { return !changes_.empty(); }
  /// All of it in words, in the order in which it was done.
  QString describe() const;

 private:
  struct Change {
    nlohmann::json mistake;
    bool taken_away = false;
    std::optional<std::int64_t> from_train_step;
  };
  std::vector<nlohmann::json> from_start_;
  std::vector<Change> changes_;
};

/// A mistake's title, with where alone it is made; what is no mistake of the catalogue as it was
/// written.
QString describeAsked(const nlohmann::json& asked);

}  // namespace ringscope::viz
