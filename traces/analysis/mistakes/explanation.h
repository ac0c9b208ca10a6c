// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/format/schema/framework.h"

namespace ringscope::traces {

/// The explanation of one mistake for readers: resources/mistakes/<id>.md. Texts are Markdown
/// without HTML.
struct Explanation {
  struct Remedy {
    std::string framework;  ///< "RingScope", "PyTorch", …
    std::string text;
    friend bool operator==(const Remedy&, const Remedy&) = default;
  };
  struct Link {
    std::string words, address;
    friend bool operator==(const Link&, const Link&) = default;
  };

  std::string id;
  std::string title;
  std::string what_happens;      ///< in any job: without a figure of the sample run
  std::string how_to_see;        ///< in the sample run, with its figures, or in a recorded job
  std::vector<Remedy> remedies;  ///< in the order of explainedFrameworks(), those that there are
  std::string reported_in;
  std::vector<Link> links;    ///< of reported_in
  bool in_sample_run = true;  ///< the engine makes it; else how_to_see is about a job's recording

  /// Returns the change in that framework. A framework without a text has the one of the framework
  /// that its attention is made of: PyTorch for Hugging Face, Transformer Engine and then PyTorch
  /// for Megatron-LM, and PyTorch for Transformer Engine. Returns null when there is none.
  const Remedy* remedyFor(Framework framework) const;
  /// The same explanation with that remedy before the others.
  Explanation beginningWith(Framework framework) const;
  friend bool operator==(const Explanation&, const Explanation&) = default;
};

/// The sentence above "How to see it here". Every figure of a page is in that section, and comes
/// from the run of its commands. A recording's own numbers are in the finding.
inline constexpr const char* kFiguresOfSample =
    "These commands make the mistake in RingScope's sample run. All figures on this page come from "
    "that run, not from your recording.";

/// The headings that may stand under "How to fix it", in the order of Framework's values.
const std::vector<std::string>& explainedFrameworks();

/// Parses an explanation. It has a title and the headings "What happens", "How to see it here",
/// "How to fix it" with a heading per framework, and "Reported in". Throws inputError that names
/// `source` if the text has another form.
Explanation parseExplanation(const std::string& id, const std::string& text,
                             const std::string& source);

/// resources/mistakes/<id>.md of each mistake by its id, as they were when this was compiled.
const std::map<std::string, std::string>& explanationTexts();

/// The explanation of a mistake of the catalogue. Throws usageError where there is no such mistake.
Explanation readExplanation(const std::string& id);

}  // namespace ringscope::traces
