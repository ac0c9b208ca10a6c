// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/explanation.h"

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

/// A heading of one level and the text under it, up to the next heading of this level.
struct Section {
  std::string heading, text;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

/// The first section has no heading: it is what stands before all of them. A line of code is no
/// heading.
std::vector<Section> sections(const std::string& text, const std::string& mark) {
  std::vector<Section> found(1);
  std::istringstream lines(text);
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) code = !code;
    if (!code && line.starts_with(mark))
      found.push_back({trimmed(line.substr(mark.size())), ""});
    else
      found.back().text += line + "\n";
  }
  for (Section& section : found) section.text = trimmed(section.text);
  return found;
}

/// [words](address): neither goes over a line, and an address has no spaces.
std::vector<Explanation::Link> linksOf(const std::string& text) {
  std::vector<Explanation::Link> links;
  for (std::size_t middle = text.find("]("); middle != std::string::npos;
       middle = text.find("](", middle + 2)) {
    const std::size_t open = text.find_last_of("[]\n", middle - 1),
                      close = text.find_first_of(") \t\r\n", middle + 2);
    if (middle == 0 || open == std::string::npos || text[open] != '[' ||
        close == std::string::npos || text[close] != ')')
      continue;
    const std::string words = text.substr(open + 1, middle - open - 1),
                      address = text.substr(middle + 2, close - middle - 2);
    if (!words.empty() && !address.empty()) links.push_back({words, address});
  }
  return links;
}

/// The place in the list; its size where it is not in it.
std::size_t orderOf(const std::string& framework) {
  const auto& all = explainedFrameworks();
  return static_cast<std::size_t>(std::ranges::find(all, framework) - all.begin());
}

/// The framework, then what its attention is made of.
std::vector<Framework> attendsBy(Framework framework) {
  switch (framework) {
    case Framework::kTransformers:
      return {framework, Framework::kPyTorch};
    case Framework::kMegatron:
      return {framework, Framework::kTransformerEngine, Framework::kPyTorch};
    case Framework::kTransformerEngine:
      return {framework, Framework::kPyTorch};
    default:
      return {framework};
  }
}

std::vector<Explanation::Remedy> remediesOf(const std::string& text, const std::string& source) {
  const auto parts = sections(text, "### ");
  if (!parts.front().text.empty())
    throw inputError(source + ": under \"How to fix it\" each text needs a framework's heading");
  std::vector<Explanation::Remedy> remedies;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t order = orderOf(parts[i].heading);
    if (order == explainedFrameworks().size() ||
        (!remedies.empty() && orderOf(remedies.back().framework) >= order))
      throw inputError(source + ": \"" + parts[i].heading + "\" is no framework, or not in order");
    if (parts[i].text.empty())
      throw inputError(source + ": nothing stands under \"" + parts[i].heading + "\"");
    remedies.push_back({parts[i].heading, parts[i].text});
  }
  return remedies;
}

}  // namespace

const Explanation::Remedy* Explanation::remedyFor(Framework framework) const {
  for (const Framework by : attendsBy(framework)) {
    const std::string& heading = explainedFrameworks()[static_cast<std::size_t>(by)];
    const auto at = std::ranges::find(remedies, heading, &Remedy::framework);
    if (at != remedies.end()) return &*at;
  }
  return nullptr;
}

Explanation Explanation::beginningWith(Framework framework) const {
  Explanation turned = *this;
  if (const Remedy* first = remedyFor(framework)) {
    const auto at = turned.remedies.begin() + (first - remedies.data());
    std::rotate(turned.remedies.begin(), at, at + 1);
  }
  return turned;
}

const std::vector<std::string>& explainedFrameworks() {
  static const std::vector<std::string> kFrameworks = {"RingScope", "PyTorch", "Hugging Face",
                                                       "Megatron-LM", "Transformer Engine"};
  return kFrameworks;
}

Explanation parseExplanation(const std::string& id, const std::string& text,
                             const std::string& source) {
  static const char* const kHeadings[] = {"What happens", "How to see it here", "How to fix it",
                                          "Reported in"};
  if (!isUtf8(text)) throw inputError(source + " is not UTF-8");
  const auto parts = sections(text, "## ");
  if (!parts.front().text.starts_with("# ") || parts.front().text.find('\n') != std::string::npos)
    throw inputError(source + " does not begin with a title");
  for (std::size_t i = 0; i < std::size(kHeadings); ++i)
    if (i + 1 >= parts.size() || parts[i + 1].heading != kHeadings[i] || parts[i + 1].text.empty())
      throw inputError(source + ": \"" + kHeadings[i] + "\" is missing, empty or not in order");
  if (parts.size() > std::size(kHeadings) + 1)
    throw inputError(source + ": \"" + parts.back().heading + "\" is one section too many");
  Explanation explanation;
  explanation.id = id;
  explanation.title = parts[0].text.substr(2);
  explanation.what_happens = parts[1].text;
  explanation.how_to_see = parts[2].text;
  explanation.remedies = remediesOf(parts[3].text, source);
  explanation.reported_in = parts[4].text;
  explanation.links = linksOf(explanation.reported_in);
  return explanation;
}

Explanation readExplanation(const std::string& id) {
  if (!findMistake(id))
    throw usageError("there is no mistake " + toPlainText(id, 80) +
                     "; `ringscope mistakes` prints all of them");
  Explanation explanation = parseExplanation(id, explanationTexts().at(id), id + ".md");
  explanation.in_sample_run = findMistake(id)->injectable;
  return explanation;
}

}  // namespace ringscope::traces
