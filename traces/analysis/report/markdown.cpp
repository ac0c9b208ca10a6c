// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/report/markdown.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/explanation.h"
#include "traces/analysis/report/finding_place.h"
#include "traces/format/core/shell_word.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

/// Reports whether every backquote of a text begins or ends a part of code.
bool hasPlainCode(const std::string& text) {
  return std::ranges::count(text, '`') % 2 == 0 && text.find("``") == std::string::npos;
}

bool isWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string heading(int level, const std::string& words) {
  return std::string(static_cast<std::size_t>(level), '#') + " " + words + "\n\n";
}

std::string part(const char* title, const std::string& text) {
  return text.empty() ? "" : "**" + std::string(title) + "** " + text + "\n\n";
}

std::string fixWords(const Fix& fix) {
  return fix.text.empty() ? "" : "In " + fix.framework + ":\n\n" + fix.text + "\n\n";
}

/// Returns the commands that make the mistake of a finding in the sample run; empty for others.
std::string sampleWords(const Finding& finding) {
  if (!findMistake(finding.rule)) return "";
  const Explanation explanation = readExplanation(finding.rule);
  if (explanation.how_to_see.empty() || !explanation.in_sample_run) return "";
  return "These commands make the same mistake in RingScope's sample run. The figures below them "
         "come "
         "from that run:\n\n" +
         explanation.how_to_see + "\n\n";
}

std::string reportedWords(const Finding& finding) {
  const Mistake* mistake = findMistake(finding.rule);
  if (!mistake) return "";
  std::string text = part("Reported in.", escapeMarkdown(mistake->reported_in));
  for (const std::string& link : finding.fix.links) text += "- <" + link + ">\n";
  return text + (finding.fix.links.empty() ? "" : "\n");
}

std::string checksWords(const Diagnosis& diagnosis) {
  std::string text = describe(countChecks(diagnosis)) + ".\n\n";
  if (!diagnosis.reach.empty()) text += escapeMarkdown(diagnosis.reach) + "\n\n";
  const auto advice = adviceFrom(diagnosis);
  if (advice.empty()) return text;
  text += "To make more checks:\n\n";
  for (const Advice& each : advice) text += "- " + escapeMarkdown(describe(each)) + "\n";
  return text + "\n";
}

}  // namespace

std::string escapeMarkdown(const std::string& text) {
  const bool has_code = hasPlainCode(text);
  const std::string plain = toPlainText(text, text.size());
  const auto is_inner = [&](std::size_t i) {  // an underscore within a word is no emphasis
    return plain[i] == '_' && i > 0 && i + 1 < plain.size() && isWordByte(plain[i - 1]) &&
           isWordByte(plain[i + 1]);
  };
  std::string escaped;
  bool in_code = false;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    if (c == '`' && has_code) in_code = !in_code;
    const bool special = std::string_view("\\*[]<>|#_").find(c) != std::string_view::npos;
    if ((special && !in_code && !is_inner(i)) || (c == '`' && !has_code)) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string quoteForShell(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./+:=,@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && text[0] != '-' && std::ranges::all_of(text, is_plain)) return text;
  return quoteWord(text.starts_with('-') ? "./" + text : text);
}

std::string commandsFor(const Finding& finding, const std::string& recording) {
  const std::string file = quoteForShell(toPlainText(recording));
  const std::string view = viewFor(finding);
  return "ringscope doctor " + file + "\nringscope-gui " + file + " --view " + view + " --at " +
         positionText(placeFor(finding)) + " --screenshot " + view + ".png\n";
}

std::string toMarkdown(const Finding& finding, const std::string& recording,
                       const ReportPicture& picture, int level) {
  std::string text = heading(level, escapeMarkdown(finding.title));
  text += escapeMarkdown(describeWhere(finding)) + "\n\n";
  if (!picture.file.empty())
    text += "![" + escapeMarkdown(picture.caption) + "](<" + picture.file + ">)\n\n";
  text += part("Evidence.", escapeMarkdown(finding.evidence));
  text += part("What to change.", escapeMarkdown(finding.remedy)) + fixWords(finding.fix);
  text += part("How to reproduce.", "These commands show the finding in the recording:");
  text += "```sh\n" + commandsFor(finding, recording) + "```\n\n" + sampleWords(finding);
  return text + reportedWords(finding);
}

std::string toMarkdown(const Report& report) {
  std::string text = heading(1, "Report on " + escapeMarkdown(report.recording));
  for (const std::string& line : report.summary) text += "- " + escapeMarkdown(line) + "\n";
  text += "\n**" + escapeMarkdown(headline(report.diagnosis)) + "**\n\n";
  const auto findings = report.diagnosis.findings();
  for (std::size_t i = 0; i < findings.size(); ++i)
    text += toMarkdown(findings[i], report.recording,
                       i < report.pictures.size() ? report.pictures[i] : ReportPicture{});
  text += heading(2, "Checks") + checksWords(report.diagnosis);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace ringscope::traces
