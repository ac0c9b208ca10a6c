// SPDX-License-Identifier: Apache-2.0
// `ringscope mcp`: the protocol, its tools, and hostile messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/child_program.h"
#include "tests/support/files.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"

namespace ringscope {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string samples() {
  return test::inSources("resources/sample");
}

/// Sends the text to a server of the folders and returns the lines that it answers.
std::vector<json> talk(const std::string& input, const std::vector<std::string>& folders) {
  std::vector<std::string> arguments{"mcp"};
  arguments.insert(arguments.end(), folders.begin(), folders.end());
  test::Child server(arguments);
  for (std::size_t sent = 0; sent < input.size();) {
    const ssize_t count = ::write(server.input, input.data() + sent, input.size() - sent);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  ::close(server.input);
  server.input = -1;
  std::string output;
  std::array<char, 4096> buffer;
  for (ssize_t count; (count = ::read(server.output, buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<std::size_t>(count));
  EXPECT_EQ(server.waitAtMost(std::chrono::seconds(10)), 0);
  std::istringstream lines(output);
  std::vector<json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
  return answers;
}

json ask(const json& message, const std::vector<std::string>& folders = {samples()}) {
  const auto answers = talk(message.dump() + "\n", folders);
  EXPECT_EQ(answers.size(), 1u) << message;
  return answers.empty() ? json() : answers.front();
}

json request(const std::string& method, const json& params = json::object()) {
  return {{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}};
}

/// Returns the result of a call of a tool.
json call(const std::string& tool, const json& arguments,
          const std::vector<std::string>& folders = {samples()}) {
  const json answer =
      ask(request("tools/call", {{"name", tool}, {"arguments", arguments}}), folders);
  EXPECT_EQ(answer["id"], 7);
  return answer.value("result", json());
}

std::string words(const json& result) {
  return result["content"][0]["text"];
}

void expectRefused(const json& result, const std::string& part) {
  EXPECT_EQ(result["isError"], true) << result;
  EXPECT_NE(words(result).find(part), std::string::npos) << result;
}

const char* const kSample = "missing_position_ids.rscope";

TEST(McpTest, AgreesOnAVersionOfTheProtocol) {
  const auto version = [](const json& asked) {
    const json answer = ask(request("initialize", {{"protocolVersion", asked}}));
    EXPECT_EQ(answer["result"]["serverInfo"]["name"], "ringscope");
    return answer["result"]["protocolVersion"].get<std::string>();
  };
  EXPECT_EQ(version("2024-11-05"), "2024-11-05");
  EXPECT_EQ(version("2025-06-18"), "2025-06-18");
  EXPECT_EQ(version("1999-01-01"), "2025-11-25");
  EXPECT_EQ(version(3), "2025-11-25");
}

TEST(McpTest, AnswersPingAndIgnoresNotifications) {
  const json notification = {{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}};
  const auto answers = talk(notification.dump() + "\n\n" + request("ping").dump(), {samples()});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], (json{{"jsonrpc", "2.0"}, {"id", 7}, {"result", json::object()}}));
}

TEST(McpTest, ListsReadOnlyToolsWithTheirArguments) {
  const json tools = ask(request("tools/list"))["result"]["tools"];
  std::string names;
  for (const json& tool : tools) {
    names += tool["name"].get<std::string>() + " ";
    EXPECT_EQ(tool["annotations"]["readOnlyHint"], true);
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    for (const auto& required : tool["inputSchema"]["required"])
      EXPECT_TRUE(tool["inputSchema"]["properties"].contains(required.get<std::string>())) << tool;
  }
  EXPECT_EQ(names, "info doctor verify diff query tables picture ");
}

TEST(McpTest, ToolsAnswerAsTheirCommandsDo) {
  for (const std::string tool : {"info", "doctor", "diff"}) {
    const std::string path = test::sampleRecording();
    EXPECT_EQ(words(call(tool, {{"file", kSample}})), test::ringscope(tool + " " + path).out);
    EXPECT_EQ(words(call(tool, {{"file", path}, {"json", true}})),
              test::ringscope(tool + " --json " + path).out);
  }
  EXPECT_NE(words(call("tables", json::object())).find("findings"), std::string::npos);
  const json compared = call("diff", {{"file", kSample}, {"against", kSample}});
  EXPECT_EQ(compared["isError"], false) << compared;
}

TEST(McpTest, TheDoctorNamesTheMistakeAndWhatToChange) {
  const std::string answer = words(call("doctor", {{"file", kSample}}));
  EXPECT_NE(answer.find("missing_position_ids"), std::string::npos) << answer;
  EXPECT_NE(answer.find("What to change: "), std::string::npos) << answer;
}

TEST(McpTest, QueriesAnswerWithABoundedNumberOfRows) {
  const json rows = call("query", {{"file", kSample}, {"sql", "SELECT count(*) AS n FROM shards"}});
  EXPECT_GT(json::parse(words(rows))[0]["n"].get<int>(), 0);
  const json first =
      call("query", {{"file", kSample}, {"sql", "SELECT * FROM events"}, {"rows", 3}});
  EXPECT_EQ(json::parse(words(first)).size(), 3u) << first;
  EXPECT_NE(first["content"][1]["text"].get<std::string>().find("more than 3 rows"),
            std::string::npos)
      << first;
  expectRefused(call("query", {{"file", kSample}, {"sql", "SELECT 1"}, {"rows", 1'000'000}}),
                "'rows' is not between 1 and 1000");
  expectRefused(
      call("query", {{"file", kSample}, {"sql", "SELECT printf('%.*c', 70000, 'x') AS long"}}),
      "more than 60000; ask for less");
}

TEST(McpTest, QueriesOnlyRead) {
  for (const char* sql : {"DROP TABLE events", "ATTACH '/etc/passwd' AS other", "--list", "",
                          "SELECT load_extension('x')", "SELECT readfile('/etc/passwd')"})
    EXPECT_EQ(call("query", {{"file", kSample}, {"sql", sql}})["isError"], true) << sql;
  expectRefused(call("query", {{"file", kSample}}), "either 'sql' or 'named'");
}

TEST(McpTest, PicturesAreImages) {
  if (std::string(test::kWindow).empty()) GTEST_SKIP() << "the window is not built";
  const json picture = call("picture", {{"file", kSample}, {"view", "positions"}});
  ASSERT_EQ(picture["isError"], false) << picture;
  EXPECT_EQ(picture["content"][0]["mimeType"], "image/png");
  EXPECT_TRUE(picture["content"][0]["data"].get<std::string>().starts_with("iVBORw0KGgo"));
  EXPECT_EQ(picture["content"][0]["data"].get<std::string>().size() % 4, 0u);
  EXPECT_EQ(call("picture", {{"file", kSample}, {"at", "nowhere"}})["isError"], true);
  expectRefused(call("picture", {{"file", kSample}, {"width", 1}}), "not between 640 and 2560");
}

TEST(McpTest, ReadsOnlyFilesUnderTheFolders) {
  const test::TempDir dir;
  fs::create_directory(dir.file("allowed"));
  fs::create_directory(dir.file("allowed-too"));
  fs::create_directory(dir.file("allowed/run"));
  fs::copy_file(test::sampleRecording(), dir.file("allowed/inside.rscope"));
  fs::copy_file(test::sampleRecording(), dir.file("allowed-too/outside.rscope"));
  fs::create_symlink("../allowed-too/outside.rscope", dir.file("allowed/link.rscope"));
  fs::create_symlink("inside.rscope", dir.file("allowed/good.rscope"));
  fs::create_symlink("/etc/passwd", dir.file("allowed/run/rank-00000.jsonl"));
  const std::vector<std::string> folders{dir.file("allowed")};
  const std::string outside = dir.file("allowed-too/outside.rscope");
  for (const std::string& path :
       {std::string("link.rscope"), outside, std::string("../allowed-too/outside.rscope"),
        std::string("/etc/passwd"), std::string("/no/such/file"), std::string("run")})
    expectRefused(call("info", {{"file", path}}, folders), "is outside of the folders");
  expectRefused(call("info", {{"file", "absent"}}, folders), "there is no 'absent'");
  expectRefused(call("info", {{"file", ""}}, folders), "is empty");
  expectRefused(call("diff", {{"file", "inside.rscope"}, {"against", outside}}, folders),
                "is outside of the folders");
  EXPECT_EQ(call("info", {{"file", "inside.rscope"}}, folders)["isError"], false);
  EXPECT_EQ(call("info", {{"file", "good.rscope"}}, folders)["isError"], false);
}

TEST(McpTest, AddressesOfOtherMachinesRunNoCommand) {
  const test::TempDir dir;
  const std::string made = dir.file("made"), touch = "touch%20" + made;
  for (const std::string& address : {"shell://" + touch + "/x", std::string("ssh://localhost/x")})
    expectRefused(call("info", {{"file", address}}, {dir.file(".")}), "there is no");
  EXPECT_FALSE(fs::exists(made));
}

TEST(McpTest, RefusesWrongArgumentsInOneSentence) {
  expectRefused(call("info", json::object()), "the argument 'file' is missing");
  expectRefused(call("info", {{"file", 3}}), "'file' is no string");
  expectRefused(call("info", {{"file", kSample}, {"-o", "x"}}), "there is no argument '-o'");
  expectRefused(call("info", {{"file", kSample}, {"json", "yes"}}), "'json' is no boolean");
}

TEST(McpTest, AnswersHostileMessagesAndGoesOn) {
  const std::string deep(100'000, '[');
  const std::string huge =
      R"({"jsonrpc": "2.0", "id": 1, "method": ")" + std::string(3'000'000, 'x') + "\"}";
  const std::vector<std::pair<std::string, int>> messages{
      {"not JSON", -32700},
      {"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"\xff\xfe\"}", -32700},
      {deep, -32700},
      {huge, -32600},
      {"[]", -32600},
      {"[" + request("ping").dump() + "]", -32600},
      {"3", -32600},
      {R"({"id": 1, "method": "ping"})", -32600},
      {R"({"jsonrpc": "2.0", "id": {}, "method": "ping"})", -32600},
      {R"({"jsonrpc": "2.0", "id": 1, "method": 5})", -32600},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []})", -32602},
      {request("resources/list").dump(), -32601},
      {request("tools/call").dump(), -32602},
      {request("tools/call", {{"name", "rm"}}).dump(), -32602},
      {request("tools/call", {{"name", "info"}, {"arguments", "x"}}).dump(), -32602}};
  std::string input;
  for (const auto& [message, code] : messages) input += message + "\n";
  const auto answers = talk(input + request("ping").dump() + "\n", {samples()});
  ASSERT_EQ(answers.size(), messages.size() + 1);
  for (std::size_t i = 0; i < messages.size(); ++i)
    EXPECT_EQ(answers[i]["error"]["code"], messages[i].second) << messages[i].first.substr(0, 99);
  EXPECT_EQ(answers.back()["result"], json::object());
}

TEST(McpTest, ADamagedRecordingIsAnErrorOfItsTool) {
  const test::TempDir dir;
  std::ofstream(dir.file("a.rscope")) << "SQLite format 3" << std::string(5000, '\1');
  fs::create_directory(dir.file("empty"));
  for (const char* name : {"a.rscope", "empty"}) {
    const json result = call("doctor", {{"file", name}}, {dir.file(".")});
    EXPECT_EQ(result["isError"], true) << result;
    EXPECT_TRUE(words(result).starts_with("ringscope: ")) << result;
  }
}

TEST(McpTest, NeedsAFolder) {
  test::expectOneSentence(test::ringscope("mcp /no/such/folder"), "is not a folder");
  test::expectOneSentence(test::ringscope("mcp"), "FOLDER");
}

}  // namespace
}  // namespace ringscope
