// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ringscope::traces {

/// What is told of one mistake to people: resources/mistakes/<id>.md. Texts are Markdown without
/// HTML.
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
  std::string what_happens;
  std::string how_to_see;
  std::vector<Remedy> remedies;  ///< in the order of explainedFrameworks(), those that there are
  std::string reported_in;
  std::vector<Link> links;  ///< of reported_in

  /// Null where there is none for it.
  const Remedy* remedyFor(const std::string& framework) const;
  friend bool operator==(const Explanation&, const Explanation&) = default;
};

/// The headings that may stand under "How to fix it", in their order.
const std::vector<std::string>& explainedFrameworks();

/// Throws inputError that names `source` where the text has not the form of an explanation: a
/// title, then "What happens", "How to see it here", "How to fix it" with a heading for each
/// framework, and "Reported in".
Explanation parseExplanation(const std::string& id, const std::string& text,
                             const std::string& source);

/// Reads the explanation of a mistake of the catalogue. Throws usageError where there is no such
/// mistake, inputError where its file is missing or broken.
Explanation readExplanation(const std::string& id);

}  // namespace ringscope::traces
