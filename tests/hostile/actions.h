// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ringscope::test {

/// The exit code and the output that a program with one task would have had.
struct Answer {
  int exit_code = 0;
  std::string out, err;
};

using Words = std::vector<std::string>;

/// Runs `ringscope WORDS`, for the commands that read recordings.
Answer runCommand(const Words& words);
/// Makes every view's scene of the trace words[0] at several moments, ranks and rows. Exits with 2
/// and a sentence when the trace cannot be opened.
Answer makeScenes(const Words& words);
/// Read words[0] as safetensors, as the folder of a model, as the settings of a run, and as frames.
Answer readTensors(const Words& words);
Answer readModel(const Words& words);
Answer readSettings(const Words& words);
Answer readFrames(const Words& words);

}  // namespace ringscope::test
