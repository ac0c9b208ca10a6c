// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ringscope::test {

/// What a program that was asked for one thing would have said.
struct Answer {
  int exit_code = 0;
  std::string out, err;
};

using Words = std::vector<std::string>;

/// `ringscope WORDS`, for the commands that read recordings.
Answer runCommand(const Words& words);
/// Every view's scene over the trace words[0], at several moments, ranks and rows. Exits with 2 and
/// a sentence where the trace cannot be opened.
Answer makeScenes(const Words& words);
/// Reads words[0] as safetensors, as the folder of a model, as JSON, as a run's settings, as
/// frames.
Answer readTensors(const Words& words);
Answer readModel(const Words& words);
Answer readSettings(const Words& words);
Answer readFrames(const Words& words);

}  // namespace ringscope::test
