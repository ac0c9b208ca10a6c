// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/mcp/tools.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/command_line/command.h"
#include "app/ringscope/mcp/child.h"
#include "app/ringscope/mcp/picture.h"
#include "traces/format/core/error.h"
#include "traces/format/core/resources.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

constexpr std::size_t kMostAnswerBytes = 60'000;  // fits into the context of an agent
constexpr std::int64_t kMostRows = 1'000, kUsualRows = 100;
constexpr std::size_t kMostSqlBytes = 20'000;

json schema(const json& properties, const Words& required) {
  return {{"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

json text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

json wholeNumber(std::int64_t least, std::int64_t most, std::int64_t usual) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"default", usual}};
}

json reading(json more = json::object()) {
  more["file"] = text("A recording (.rscope), a recorder's folder, or a profile of another tool");
  return more;
}

json withJson(json properties) {
  properties["json"] = {
      {"type", "boolean"}, {"default", false}, {"description", "Answer as JSON instead of text"}};
  return properties;
}

/// A value of the arguments, or nullopt. The schema was checked before.
std::optional<std::string> textOf(const json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::nullopt : std::optional(found->get<std::string>());
}

/// Throws usageError for the first argument that does not agree with the tool's schema. Knows the
/// few keywords that the schemas of this file use.
void checkArguments(const json& arguments, const json& input) {
  for (const auto& name : input["required"])
    if (!arguments.contains(name.get<std::string>()))
      throw usageError("the argument '" + name.get<std::string>() + "' is missing");
  for (const auto& [name, value] : arguments.items()) {
    const std::string shown = "'" + traces::toPlainText(name, 60) + "'";
    const auto known = input["properties"].find(name);
    if (known == input["properties"].end())
      throw usageError("there is no argument " + shown + " of this tool");
    const std::string type = (*known)["type"];
    const bool fits = type == "string"    ? value.is_string()
                      : type == "boolean" ? value.is_boolean()
                                          : value.is_number_integer();
    if (!fits)
      throw usageError(std::string("the argument ").append(shown).append(" is no ").append(type));
    if (known->contains("minimum") && (value < (*known)["minimum"] || value > (*known)["maximum"]))
      throw usageError("the argument " + shown + " is not between " + (*known)["minimum"].dump() +
                       " and " + (*known)["maximum"].dump());
  }
}

json content(const std::string& words) {
  return {{"type", "text"}, {"text", traces::toUtf8(words)}};
}

json failure(const std::string& words) {
  return {{"content", json::array({content(words)})}, {"isError", true}};
}

/// Returns the answer of a command as a tool's result. An answer that is too long is cut when it is
/// text, and refused when it is JSON, which nobody could parse.
json resultOf(const ChildResult& child, bool is_json) {
  if (child.timed_out) return failure("the command took too long and was ended");
  const bool ran = child.exit_code == kSuccess || child.exit_code == kAnswerIsNo;
  if (!ran && child.out.empty())  // a query that is stopped has printed its first rows
    return failure(child.err.empty()
                       ? "the command ended with exit code " + std::to_string(child.exit_code)
                       : child.err.substr(0, kMostNoteBytes));
  const bool cut = child.out_bytes > kMostAnswerBytes;
  const std::string size = "the answer has " + std::to_string(child.out_bytes) +
                           " bytes, more than " + std::to_string(kMostAnswerBytes);
  if (cut && is_json) return failure(size + "; ask for less, or for text");
  json result = {{"content", json::array({content(child.out.substr(0, kMostAnswerBytes))})},
                 {"isError", false}};
  if (cut) result["content"].push_back(content("cut: " + size));
  if (!child.err.empty()) result["content"].push_back(content(child.err.substr(0, kMostNoteBytes)));
  return result;
}

json run(const Words& arguments, bool is_json) {
  Words command{traces::programBeside("ringscope")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return resultOf(runChild(command, {}), is_json);
}

/// Runs a command that takes a recording and --json.
json report(const char* command, const json& arguments, const AllowedFiles& files) {
  const bool is_json = arguments.value("json", false);
  Words words{command};
  if (is_json) words.emplace_back("--json");
  if (const auto against = textOf(arguments, "against"))
    words.insert(words.end(), {"--against", files.resolve(*against)});
  words.push_back(files.resolve(arguments["file"]));
  return run(words, is_json);
}

json query(const json& arguments, const AllowedFiles& files) {
  const auto sql = textOf(arguments, "sql"), named = textOf(arguments, "named");
  if (sql.has_value() == named.has_value())
    throw usageError("give either 'sql' or 'named'; the tool 'tables' lists the named queries");
  if (sql && sql->size() > kMostSqlBytes) throw usageError("the SQL is too long");
  const std::int64_t rows = arguments.value("rows", kUsualRows);
  Words words{"query", "--json", "--timeout", "30", "--max-rows", std::to_string(rows)};
  if (named) words.push_back("--named=" + *named);
  words.insert(words.end(), {"--", files.resolve(arguments["file"])});
  if (sql) words.push_back(*sql);
  return run(words, true);
}

struct Tool {
  const char* name;
  const char* description;
  json input;
  json (*call)(const json& arguments, const AllowedFiles& files);
};

const std::vector<Tool>& tools() {
  static const std::vector<Tool> kList{
      {"info", "Says what a recording holds: ranks, strategy, length, and what it lacks.",
       schema(withJson(reading()), {"file"}),
       [](const json& a, const AllowedFiles& files) { return report("info", a, files); }},
      {"doctor",
       "Finds mistakes of context parallelism in a recording: the place, the evidence, and what to "
       "change. Begin with it.",
       schema(withJson(reading()), {"file"}),
       [](const json& a, const AllowedFiles& files) { return report("doctor", a, files); }},
      {"verify",
       "Recomputes recorded attention in fp64 and says where the run is wrong. Needs a recording "
       "with values.",
       schema(withJson(reading()), {"file"}),
       [](const json& a, const AllowedFiles& files) { return report("verify", a, files); }},
      {"diff",
       "Says where a run first differs from unsharded attention, or from the recording 'against'.",
       schema(withJson(reading({{"against", text("A second recording of the same training")}})),
              {"file"}),
       [](const json& a, const AllowedFiles& files) { return report("diff", a, files); }},
      {"query",
       "Runs one SELECT over events, hops, tensors, memory, shards, diffs, findings and tokens, "
       "and "
       "answers with JSON rows. `tables` lists the columns.",
       schema(reading({{"sql", text("One SELECT of SQLite")},
                       {"named", text("The name of a prepared query, instead of sql")},
                       {"rows", wholeNumber(1, kMostRows, kUsualRows)}}),
              {"file"}),
       query},
      {"tables", "Lists the tables and columns that query reads, and the named queries.",
       schema(json::object(), {}),
       [](const json&, const AllowedFiles&) {
         return run({"query", "--list"}, false);
       }},
      {"picture",
       "Draws a view of a recording as PNG: ring, positions, coverage, merge, timeline, memory and "
       "more. Needs the window's package.",
       schema(reading({{"view", text("The view's name; 'ring' by default")},
                       {"at", text("The moment: STEP,LAYER,forward|backward,RINGSTEP[,PHASE]")},
                       {"against", text("A second recording, for the view 'compare'")},
                       {"width", wholeNumber(640, 2560, 1280)},
                       {"height", wholeNumber(400, 1600, 800)}}),
              {"file"}),
       drawPicture}};
  return kList;
}

const Tool* find(const std::string& name) {
  const auto found =
      std::ranges::find_if(tools(), [&](const Tool& tool) { return tool.name == name; });
  return found == tools().end() ? nullptr : &*found;
}

}  // namespace

json listTools() {
  json list = json::array();
  for (const Tool& tool : tools())
    list.push_back({{"name", tool.name},
                    {"description", tool.description},
                    {"inputSchema", tool.input},
                    {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
  return list;
}

bool isTool(const std::string& name) {
  return find(name) != nullptr;
}

json callTool(const std::string& name, const json& arguments, const AllowedFiles& files) {
  const Tool& tool = *find(name);
  try {
    checkArguments(arguments, tool.input);
    return tool.call(arguments, files);
  } catch (const Error& error) {
    return failure(error.what());
  }
}

}  // namespace ringscope::app
