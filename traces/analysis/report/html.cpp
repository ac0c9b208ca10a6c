// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/report/html.h"

#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/report/finding_place.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

std::string element(const char* tag, const std::string& text) {
  const std::string name(tag);
  return text.empty() ? "" : "<" + name + ">" + escapeHtml(text) + "</" + name + ">\n";
}

std::string code(const std::string& text) {
  return "<pre>" + escapeHtml(text) + "</pre>\n";
}

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string linksHtml(const Finding& finding) {
  std::string text;
  for (const std::string& link : finding.fix.links) {
    if (!link.starts_with("https://")) continue;
    const std::string address = escapeHtml(link);
    text += "<li><a rel=\"noopener noreferrer\" href=\"";
    text += address;
    text += "\">";
    text += address;
    text += "</a></li>\n";
  }
  return text.empty() ? "" : "<ul>\n" + text + "</ul>\n";
}

std::string findingHtml(const Finding& finding, const std::string& recording) {
  const std::string view = viewFor(finding);
  std::string text = "<article>\n" + element("h3", "▲ " + finding.title);
  text += "<p class=\"where\">" + escapeHtml(describeWhere(finding)) + "</p>\n";
  text += element("p", finding.evidence);
  text += element("h4", "What to change") + element("p", finding.remedy);
  if (!finding.fix.text.empty())
    text += element("h4", "In " + finding.fix.framework) + code(finding.fix.text);
  text += element("h4", "How to reproduce") + code(commandsFor(finding, recording));
  if (const Mistake* mistake = findMistake(finding.rule))
    text += element("h4", "Reported in") + element("p", mistake->reported_in) + linksHtml(finding);
  return text + "<button class=\"lead\" data-view=\"" + escapeHtml(view) + "\" data-position=\"" +
         escapeHtml(positionText(placeFor(finding))) + "\">See it in " + escapeHtml(view) +
         "</button>\n</article>\n";
}

}  // namespace

std::string escapeHtml(const std::string& text) {
  std::string escaped;
  for (const unsigned char c : toUtf8(text)) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else if (c == '\'')
      escaped += "&#39;";
    else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
      escaped += "\uFFFD";
    else
      escaped += static_cast<char>(c);
  }
  return escaped;
}

std::string toScriptJson(const nlohmann::json& json) {
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  replaceAll(text, "</", "<\\/");
  replaceAll(text, "<!", "\\u003c!");
  for (const char* letter : {"s", "S"})  // of a <script> within a comment
    replaceAll(text, "<" + std::string(letter), "\\u003c" + std::string(letter));
  return text;
}

std::string summaryHtml(const Report& report) {
  std::string text = "<ul class=\"summary\">\n";
  for (const std::string& line : report.summary) text += element("li", line);
  const bool found = !report.diagnosis.findings().empty();
  return text + "</ul>\n<p class=\"headline " +
         (found                       ? "found"
          : isClear(report.diagnosis) ? "clear"
                                      : "open") +
         "\">" + escapeHtml(headline(report.diagnosis)) + "</p>\n";
}

std::string findingsHtml(const Report& report) {
  std::string text;
  for (const Finding& finding : report.diagnosis.findings())
    text += findingHtml(finding, report.recording);
  return text;
}

std::string checksHtml(const Report& report) {
  std::string text = element("p", describe(countChecks(report.diagnosis)) + ".");
  text += element("p", report.diagnosis.reach);
  std::string advice;
  for (const Advice& each : adviceFrom(report.diagnosis)) advice += element("li", describe(each));
  if (advice.empty()) return text;
  return text + element("p", "To make more checks:") + "<ul>\n" + advice + "</ul>\n";
}

}  // namespace ringscope::traces
