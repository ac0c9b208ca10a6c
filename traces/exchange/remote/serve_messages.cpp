// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/remote/serve_messages.h"

#include <nlohmann/json.hpp>

#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;

constexpr std::size_t kMostSentenceBytes = 2000;

Error malformed(const std::string& why) {
  return inputError("a message about the remote recording is malformed: " + why);
}

Bytes encode(const json& document) {
  return encodeJsonFrame(document.dump(-1, ' ', false, json::error_handler_t::replace));
}

json parse(const Frame& frame) {
  if (frame.body.size() > kMaxRequestBytes) throw malformed("it is too long");
  json document = parseFrameJson(frame);
  if (!document.is_object()) throw malformed("it is no JSON object");
  return document;
}

std::uint64_t number(const json& document, const char* field) {
  const auto found = document.find(field);
  if (found == document.end() || !found->is_number_unsigned())
    throw malformed(std::string(field) + " is not a whole number");
  return found->get<std::uint64_t>();
}

int version(const json& document, const char* field) {
  const std::uint64_t value = number(document, field);
  if (value > 1'000'000) throw malformed(std::string(field) + " is out of range");
  return static_cast<int>(value);
}

std::string sentence(const json& document, const char* field) {
  const auto found = document.find(field);
  if (found == document.end() || !found->is_string())
    throw malformed(std::string(field) + " is not a text");
  return toPlainText(found->get<std::string>(), kMostSentenceBytes);
}

Bytes encodeHeaders(const ServedHeaders& headers) {
  ByteWriter out;
  for (const ChunkHeader& header : headers) writeHeader(out, header);
  return encodeFrame(FrameType::kHeaders, out.take());
}

ServedHeaders decodeHeaders(const Frame& frame) {
  if (frame.body.size() % kHeaderBytes != 0 || frame.body.size() > kMostHeaders * kHeaderBytes)
    throw malformed("its list of chunks has an impossible length");
  ByteReader in(frame.body);
  ServedHeaders headers(frame.body.size() / kHeaderBytes);
  for (ChunkHeader& header : headers)
    if (!readHeader(in, header)) throw malformed("it lists a chunk of an unknown kind");
  return headers;
}

struct Encoder {
  Bytes operator()(const ListRequest&) const { return encode({{"cmd", "list"}}); }
  Bytes operator()(const ReadRequest& request) const {
    return encode({{"cmd", "read"}, {"seq", request.seq}});
  }
  Bytes operator()(const ValuesRequest& request) const {
    return encode({{"cmd", "values"}, {"tensor", request.tensor}});
  }
  Bytes operator()(const ServerHello& hello) const {
    return encode({{"serve", hello.version}, {"format", hello.format}, {"release", hello.release}});
  }
  Bytes operator()(const Opened& opened) const { return encode({{"opened", opened.bytes}}); }
  Bytes operator()(const Busy&) const { return encode({{"busy", true}}); }
  Bytes operator()(const Listed&) const { return encode({{"listed", true}}); }
  Bytes operator()(const NoValues&) const { return encode({{"no_values", true}}); }
  Bytes operator()(const ServedProblem& problem) const {
    return encode({{"problem", toPlainText(problem.sentence, kMostSentenceBytes)}});
  }
  Bytes operator()(const Refusal& refusal) const {
    return encode({{"refused", toPlainText(refusal.sentence, kMostSentenceBytes)}});
  }
  Bytes operator()(const ServedHeaders& headers) const { return encodeHeaders(headers); }
  Bytes operator()(const Chunk& chunk) const { return encodeChunkFrame(chunk); }
};

}  // namespace

Bytes encodeServeRequest(const ServeRequest& request) {
  return std::visit(Encoder(), request);
}

ServeRequest decodeServeRequest(const Frame& frame) {
  if (frame.type != FrameType::kJson) throw malformed("a request is no JSON");
  const json document = parse(frame);
  const std::string command = sentence(document, "cmd");
  if (command == "list") return ListRequest{};
  if (command == "read") return ReadRequest{number(document, "seq")};
  if (command == "values") return ValuesRequest{number(document, "tensor")};
  throw malformed("there is no request '" + command + "'");
}

Bytes encodeServeMessage(const ServeMessage& message) {
  return std::visit(Encoder(), message);
}

ServeMessage decodeServeMessage(const Frame& frame) {
  if (frame.type == FrameType::kChunk) return decodeChunkFrame(frame);
  if (frame.type == FrameType::kHeaders) return decodeHeaders(frame);
  const json document = parse(frame);
  if (document.contains("serve"))
    return ServerHello{version(document, "serve"), version(document, "format"),
                       sentence(document, "release")};
  if (document.contains("opened")) return Opened{number(document, "opened")};
  if (document.contains("busy")) return Busy{};
  if (document.contains("listed")) return Listed{};
  if (document.contains("no_values")) return NoValues{};
  if (document.contains("problem")) return ServedProblem{sentence(document, "problem")};
  if (document.contains("refused")) return Refusal{sentence(document, "refused")};
  throw malformed("its kind is unknown");
}

}  // namespace ringscope::traces
