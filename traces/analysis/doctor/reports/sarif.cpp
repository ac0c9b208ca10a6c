// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/reports/sarif.h"

#include <cstdio>

#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

/// A path as RFC 3986 has it: relative as it is, else of the file scheme.
std::string uriOf(const std::string& path) {
  static const std::string kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (kPlain.find(c) != std::string::npos) {
      uri += c;
      continue;
    }
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", static_cast<unsigned>(c) & 0xFFu);
    uri += escaped;
  }
  return uri;
}

json text(const std::string& words) {
  return {{"text", toUtf8(words)}};
}

/// Its help is what to change in the framework; without one that is known, the evidence alone.
json ruleOf(const std::string& id, std::optional<Framework> framework) {
  json rule = {{"id", id}};
  const Mistake* mistake = findMistake(id);
  if (!mistake) return rule;
  const Fix fix = fixFor(id, framework);
  std::string help = "Evidence: " + mistake->look_for + ".";
  if (!fix.text.empty()) help += "\n\nWhat to change in " + fix.framework + ":\n\n" + fix.text;
  help += "\n\nReported in: " + mistake->reported_in + ".";
  std::string marked = help;
  for (const std::string& link : fix.links) {
    help += "\n" + link;
    marked += "\n<" + link + ">";
  }
  rule["shortDescription"] = text(mistake->title);
  rule["help"] = {{"text", toUtf8(help)}, {"markdown", toUtf8(marked)}};
  if (!fix.links.empty()) rule["helpUri"] = fix.links.front();
  return rule;
}

/// Returns the place in the run, as "rank 1/layer 0/forward".
std::string logicalName(const Finding& finding) {
  const Place& place = finding.place;
  std::string name;
  if (finding.rank.exists()) name += "rank " + toString(finding.rank) + "/";
  if (place.layer.exists()) name += "layer " + toString(place.layer) + "/";
  name += traces::name(place.direction);
  if (place.stage.exists()) name += "/ring step " + toString(place.stage);
  return name;
}

json resultFor(const Finding& finding, std::size_t rule_index, const std::string& trace,
               const Baseline* baseline) {
  json result = {
      {"ruleId", finding.rule},
      {"ruleIndex", rule_index},
      {"level", name(finding.severity)},
      {"message",
       text(finding.title + ". " + finding.evidence + " What to change: " + finding.remedy)},
      {"locations",
       {{{"physicalLocation", {{"artifactLocation", {{"uri", uriOf(trace)}}}}},
         {"logicalLocations", {{{"fullyQualifiedName", toUtf8(logicalName(finding))}}}}}}},
      {"partialFingerprints", {{"ringscope/v1", toUtf8(Baseline::identityFor(finding))}}},
      {"properties",
       {{"confidence", name(finding.confidence)},
        {"confidence_means", explain(finding.confidence)},
        {"train_step", finding.place.train_step},
        {"buffer", toUtf8(finding.buffer)},
        {"links", finding.fix.links}}}};
  if (baseline) result["baselineState"] = baseline->accepts(finding) ? "unchanged" : "new";
  return result;
}

json notification(const char* level, const std::string& words) {
  return {{"level", level}, {"message", text(words)}};
}

/// A rule that could not judge, with what would let it.
json notificationFor(const Diagnosis::Entry& entry, std::size_t rule_index) {
  std::string words = headline(entry) + ": " + entry.rule + " " + entry.result.would_settle;
  json remedies = json::array();
  for (const Remedy remedy : entry.result.remedies) remedies.push_back(remedyWords(remedy).line);
  if (!entry.result.remedies.empty()) words += ". To add: " + describeRemedies(entry);
  json note = notification("note", words);
  note["associatedRule"] = {{"id", entry.rule}, {"index", rule_index}};
  note["properties"] = {{"remedies", std::move(remedies)}};
  return note;
}

json notificationsOf(const Diagnosis& diagnosis) {
  json all = json::array();
  if (!diagnosis.failure.empty()) all.push_back(notification("warning", diagnosis.failure));
  for (const std::string& part : diagnosis.unread) all.push_back(notification("warning", part));
  for (const std::string& fact : diagnosis.unrecorded) all.push_back(notification("note", fact));
  if (countChecks(diagnosis).not_made > 0 && diagnosis.findings().empty())
    all.push_back(notification("warning", headline(diagnosis)));
  for (std::size_t i = 0; i < diagnosis.entries.size(); ++i)
    if (isNotMade(diagnosis.entries[i])) all.push_back(notificationFor(diagnosis.entries[i], i));
  return all;
}

}  // namespace

json toSarif(const Diagnosis& diagnosis, const std::string& trace, const std::string& version,
             const Baseline* baseline) {
  json rules = json::array(), results = json::array();
  for (const auto& entry : diagnosis.entries) {
    for (const Finding& finding : entry.result.findings)
      results.push_back(resultFor(finding, rules.size(), trace, baseline));
    rules.push_back(ruleOf(entry.rule, diagnosis.framework));
  }
  return {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", {{"name", "RingScope"}, {"version", version}, {"rules", rules}}}}},
         {"invocations",
          {{{"executionSuccessful", true},
            {"toolExecutionNotifications", notificationsOf(diagnosis)}}}},
         {"results", results}}}}};
}

}  // namespace ringscope::traces
