// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/mcp/server.h"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>

#include "app/ringscope/mcp/tools.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLineBytes = 1 << 20;
/// The versions of the protocol that differ in nothing that this server uses; the newest first.
constexpr std::string_view kVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

// Error codes of JSON-RPC 2.0.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
              kInvalidParams = -32602;

/// A failure of the protocol, as opposed to one of a tool.
struct RpcError {
  int code;
  std::string message;
};

/// The next line without its end. A longer line than kMostLineBytes is read to its end, but not
/// kept.
struct Line {
  std::string text;
  bool too_long = false;
};

/// Returns nullopt at the end of the input.
std::optional<Line> readLine(std::istream& in) {
  constexpr int kEnd = std::char_traits<char>::eof();
  Line line;
  std::streambuf& buffer = *in.rdbuf();
  for (int next = buffer.sbumpc();; next = buffer.sbumpc()) {
    if (next == kEnd && line.text.empty() && !line.too_long) return std::nullopt;
    if (next == kEnd || next == '\n') return line;
    if (line.text.size() >= kMostLineBytes) line.too_long = true;
    if (!line.too_long) line.text += static_cast<char>(next);
  }
}

json initialize(const json& params) {
  const auto asked = params.find("protocolVersion");
  const bool known = asked != params.end() && asked->is_string() &&
                     std::ranges::find(kVersions, asked->get<std::string>()) != std::end(kVersions);
  return {{"protocolVersion", known ? asked->get<std::string>() : std::string(kVersions[0])},
          {"capabilities", {{"tools", json::object()}}},
          {"serverInfo", {{"name", "ringscope"}, {"version", RINGSCOPE_VERSION}}},
          {"instructions",
           "Reads recordings of context-parallel training. Begin with doctor. If it finds nothing, "
           "use verify and diff; query answers questions about single events."}};
}

json call(const json& params, const AllowedFiles& files) {
  const auto name = params.find("name");
  if (name == params.end() || !name->is_string())
    throw RpcError{kInvalidParams, "tools/call needs the name of a tool"};
  json arguments = params.value("arguments", json());
  if (arguments.is_null()) arguments = json::object();
  if (!arguments.is_object()) throw RpcError{kInvalidParams, "the arguments are no object"};
  if (!isTool(*name))
    throw RpcError{kInvalidParams, "there is no tool '" +
                                       traces::toPlainText(name->get<std::string>(), 60) +
                                       "'; tools/list lists the tools"};
  return callTool(*name, arguments, files);
}

json answer(const std::string& method, const json& params, const AllowedFiles& files) {
  if (!params.is_object()) throw RpcError{kInvalidParams, "params is no object"};
  if (method == "initialize") return initialize(params);
  if (method == "ping") return json::object();
  if (method == "tools/list") return {{"tools", listTools()}};
  if (method == "tools/call") return call(params, files);
  throw RpcError{kMethodNotFound,
                 "there is no method '" + traces::toPlainText(method, 60) + "' of this server"};
}

json parse(const Line& line) {
  if (line.too_long)
    throw RpcError{kInvalidRequest,
                   "a message has more than " + std::to_string(kMostLineBytes) + " bytes"};
  try {
    return traces::parseJson(line.text, "the message");
  } catch (const Error& error) {
    throw RpcError{kParseError, error.what()};
  }
}

/// Returns the reply to a message; nullopt for a notification, and for an answer to a request that
/// this server did not make.
std::optional<json> reply(const Line& line, const AllowedFiles& files) {
  json id;
  try {
    const json message = parse(line);
    if (!message.is_object() || message.value("jsonrpc", json()) != "2.0")
      throw RpcError{kInvalidRequest, "a message is an object with \"jsonrpc\": \"2.0\""};
    if (message.contains("result") || message.contains("error")) return std::nullopt;
    const json given = message.value("id", json());
    if (given.is_string() || given.is_number_integer()) id = given;
    const json method = message.value("method", json());
    if (!method.is_string()) throw RpcError{kInvalidRequest, "the method is no text"};
    if (!message.contains("id")) return std::nullopt;
    if (id.is_null()) throw RpcError{kInvalidRequest, "the id is neither text nor an integer"};
    const json result = answer(method, message.value("params", json::object()), files);
    return json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}};
  } catch (const RpcError& error) {
    return json{{"jsonrpc", "2.0"},
                {"id", id},
                {"error", {{"code", error.code}, {"message", traces::toUtf8(error.message)}}}};
  }
}

}  // namespace

void serve(std::istream& in, std::ostream& out, const AllowedFiles& files) {
  while (const auto line = readLine(in)) {
    if (line->text.find_first_not_of(" \t\r") == std::string::npos && !line->too_long) continue;
    if (const auto answered = reply(*line, files))
      out << answered->dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
    if (!out) return;  // nobody reads the answers
  }
}

}  // namespace ringscope::app
