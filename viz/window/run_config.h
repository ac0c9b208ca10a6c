// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <nlohmann/json.hpp>

namespace ringscope::viz {

/// What a live run is asked to do; the same as the options of `ringscope train`.
struct RunConfig {
  QString model;     ///< a Hugging Face Llama folder; empty: the sample model
  QStringList text;  ///< files; empty: the sample text
  int dp = 1, tp = 1, cp = 4;
  int steps = 10;
  int seq_len = 256;
  QString strategy = "ring";
  QString balance = "head_tail";
  QString mask = "causal";
  int window = 0;  ///< keys seen to the left, with mask window
  QString dtype = "float32";
  QString launch = "threads";  ///< or processes
  QString capture = "values:steps=0";
  QStringList mistakes;
  QString trace;  ///< where the run is recorded

  /// Arguments of `ringscope train`. Each dp rank gets one sequence; with mask documents, the
  /// paragraphs of the text are the documents.
  QStringList arguments() const;
  /// From a JSON file with these keys. Throws inputError that names the file and the key.
  static RunConfig load(const QString& path);
  static RunConfig fromJson(const nlohmann::json& json, const std::string& source);
};

/// Why a run of this configuration cannot work, and what would; empty when nothing is known
/// against it.
QString refusal(const RunConfig& config, int query_heads);

/// What the second changes of the first: "balance: head_tail → none"; empty when nothing.
QString changes(const RunConfig& before, const RunConfig& after);

}  // namespace ringscope::viz
