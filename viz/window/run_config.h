// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <nlohmann/json.hpp>

#include "traces/format/schema/run_spec.h"
#include "traces/plan/balance.h"

namespace ringscope::viz {

/// The settings of a live run and the file of its recording, as the options of `ringscope train`.
struct RunConfig : traces::RunSpec {
  RunConfig() { balance = traces::defaultCausalBalance(); }

  QStringList mistakes;
  /// Made too, and never said: what the recording on show had injected.
  QStringList sealed;
  QString trace;  ///< where the run is recorded
  /// The command prefix of the machine that runs it, such as "ssh gpu-box"; empty: this machine.
  /// Paths are then paths of that machine.
  QString run_on;

  /// Arguments of `ringscope train`. Each dp rank gets at least one sequence; with mask documents,
  /// the paragraphs of the text are the documents. Without text, the sample text.
  QStringList arguments() const;
  /// Returns the sealed mistakes that the control connection requests instead of arguments(). Rank
  /// processes read their mistakes from the command line, so such a run has none here.
  QStringList hiddenMistakes() const;
  /// As the engine will carry it out: verified where its mistakes allow that, over the launch's
  /// transport. Throws inputError
  /// where there is neither a text nor the sample text.
  traces::RunSpec spec() const;
  /// From a JSON file with the keys that arguments() knows. Throws inputError that names the file
  /// and the key.
  static RunConfig load(const QString& path);
  static RunConfig fromJson(const nlohmann::json& json, const std::string& source);
};

/// Why a run of this configuration cannot work, and what would (traces::refusal, as the engine says
/// it); empty when nothing is known against it.
QString refusal(const RunConfig& config, std::int64_t query_heads);

/// Why a mistake would change nothing of a run of this configuration, or cannot be made in it, and
/// which setting would help; empty when nothing is known against it.
QString reasonAgainst(const QString& mistake, RunConfig config);

/// Says which settings the second changes: "balance: head_tail → none". May be empty.
QString changes(const RunConfig& before, const RunConfig& after);

}  // namespace ringscope::viz
