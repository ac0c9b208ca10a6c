// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <string>
#include <vector>

#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"

namespace ringscope::app {

/// Parses "NAME:DIM" or "NAME:DIM:restore". Throws usageError for other forms. The allowed names
/// and dimensions are checked by traces/plan/run_rules.h.
inline traces::BufferChoice parseBufferChoice(const std::string& text) {
  const auto refusal = [&] {
    return usageError("--buffer '" + text +
                      "' is not NAME:DIM or NAME:DIM:restore, such as freqs_cis:0:restore");
  };
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos) throw refusal();
  traces::BufferChoice choice;
  choice.name = text.substr(0, colon);
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, choice.seq_dim);
  choice.restore = std::string(stopped, end) == ":restore";
  if (error != std::errc() || (stopped != end && !choice.restore)) throw refusal();
  return choice;
}

/// Describes the buffers that the run cuts, including the default ones: "input_ids along 1,
/// restored; labels along 1, left as a shard".
inline std::string describeBuffers(const traces::RunSpec& run) {
  std::string words;
  for (const traces::BufferChoice& choice : traces::chosenBuffers(run))
    words += (words.empty() ? "" : "; ") + choice.name + " along " +
             std::to_string(choice.seq_dim) + (choice.restore ? ", restored" : ", left as a shard");
  return words;
}

}  // namespace ringscope::app
