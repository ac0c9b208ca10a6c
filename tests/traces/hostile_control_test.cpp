// SPDX-License-Identifier: Apache-2.0
// Every input of the control connection is accepted, rejected with a sentence, or ends the
// connection. The run's side is tested in tests/app/hostile_control_test.cpp.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "traces/exchange/control/messages.h"
#include "traces/format/core/error.h"

namespace ringscope::traces::control {
namespace {

using nlohmann::json;

std::string framed(const std::string& text) {
  const Bytes bytes = encodeJsonFrame(text);
  return {bytes.begin(), bytes.end()};
}

std::string framed(const json& message) {
  return framed(message.dump());
}

/// Returns an engine's answer to one frame: "G" a granted request, "R" one rejected with its
/// number, "F" an invalid frame, "C" a chunk, which was not requested.
char answerTo(const Frame& frame) {
  if (frame.type == FrameType::kChunk) return 'C';
  std::optional<RequestHead> head;
  try {
    const json message = parseFrameJson(frame);
    head = RequestHead::from(message);
    decodeRequest(message);
    return 'G';
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_FALSE(sentence.empty());
    const Bytes said = head ? encodeMessage(Reply{head->cmd, head->id, Refused{sentence}})
                            : encodeMessage(Failure{sentence});
    FrameDecoder decoder;
    decoder.feed(said.data(), said.size());
    EXPECT_NO_THROW(decodeMessage(parseFrameJson(*decoder.next())));
    return head ? 'R' : 'F';
  }
}

/// Returns the answers to a stream in pieces of this size. "B": the connection is broken.
std::string answersTo(const std::string& stream, std::size_t piece) {
  FrameDecoder decoder(kMaxRequestBytes);
  std::string answers;
  try {
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.feed(stream.data() + at, std::min(piece, stream.size() - at));
      while (const auto frame = decoder.next()) answers += answerTo(*frame);
    }
  } catch (const Error&) {
    answers += 'B';
  }
  return answers;
}

void expectAnswers(const std::string& name, const std::string& stream,
                   const std::string& expected) {
  for (const std::size_t piece : {stream.size(), std::size_t{1}, std::size_t{7}}) {
    if (piece == 0 || (piece == 1 && stream.size() > 10'000)) continue;
    EXPECT_EQ(answersTo(stream, piece), expected) << name << ", in pieces of " << piece;
  }
}

const std::string kGood = framed(json{{"cmd", "state"}, {"id", 9}});

std::string header(std::uint32_t length, char type) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(length >> shift & 0xff);
  return bytes + type;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

struct Stream {
  const char* name;
  std::string bytes, answers;
};

TEST(HostileControlTest, AStreamThatIsCutOrHasNoFramesWaitsOrEndsTheConnection) {
  const std::vector<Stream> streams = {
      {"nothing", "", ""},
      {"one byte", kGood.substr(0, 1), ""},
      {"a header", kGood.substr(0, 5), ""},
      {"half a body", kGood.substr(0, kGood.size() / 2), ""},
      {"all but the last byte", kGood.substr(0, kGood.size() - 1), ""},
      {"a good one and half", kGood + kGood.substr(0, 9), "G"},
      {"length 0", header(0, 'J') + kGood, "B"},
      {"the longest length", header(0xffffffff, 'J'), "B"},
      {"a signed length", header(0x80000000, 'J'), "B"},
      {"half a gigabyte", header(512u << 20, 'J'), "B"},
      {"longer than a request", header(kMaxRequestBytes + 1, 'J'), "B"},
      {"as long as a request may be", header(kMaxRequestBytes, 'J'), ""},
      {"type 0", header(3, '\0') + "ab", "B"},
      {"type j", header(3, 'j') + "ab", "B"},
      {"type 255", header(3, '\xff') + "ab", "B"},
      {"big-endian", std::string("\0\0\0\x11J{\"cmd\":\"state\"}", 20), "B"},
      {"text without a frame", "{\"cmd\": \"pause\"}\n", "B"},
      {"a web browser", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "B"},
      {"zeros", std::string(64, '\0'), "B"},
      {"good, then rubbish", kGood + std::string(9, '\xff'), "GB"},
      {"rubbish, then good", std::string(9, '\xff') + kGood, "B"},
      {"an empty chunk", header(1, 'C') + kGood, "CG"},
      {"a chunk of rubbish", header(9, 'C') + std::string(8, '\xff') + kGood, "CG"},
      {"three hundred requests", repeated(kGood, 300), std::string(300, 'G')},
  };
  for (const Stream& stream : streams) expectAnswers(stream.name, stream.bytes, stream.answers);
}

TEST(HostileControlTest, RejectsAnInvalidRequestAndAnswersTheNext) {
  const std::string deep(200'000, '[');
  const std::vector<Stream> bodies = {
      {"empty", "", "F"},
      {"a zero byte", std::string(1, '\0'), "F"},
      {"binary", "\x01\x02\xfe\xff", "F"},
      {"not UTF-8", "{\"cmd\": \"\xff\xfe\"}", "F"},
      {"a cut character", "{\"cmd\": \"pause\xe2\x82\"}", "F"},
      {"UTF-16", std::string("{\0\"\0c\0m\0d\0", 10), "F"},
      {"half a surrogate", "{\"cmd\": \"\\ud800\"}", "F"},
      {"cut", "{\"cmd\": \"state\"", "F"},
      {"two documents", "{\"cmd\": \"state\"} {}", "F"},
      {"a comma too many", "{\"cmd\": \"state\",}", "F"},
      {"a comment", "{\"cmd\": /* now */ \"state\"}", "F"},
      {"NaN", "{\"cmd\": \"state\", \"id\": NaN}", "F"},
      {"1e400", "{\"cmd\": \"state\", \"id\": 1e400}", "F"},
      {"null", "null", "F"},
      {"text", "\"state\"", "F"},
      {"a list", "[{\"cmd\": \"state\"}]", "F"},
      {"no field", "{}", "F"},
      {"no cmd", "{\"id\": 1}", "F"},
      {"CMD", "{\"CMD\": \"state\"}", "F"},
      {"65 levels", std::string(65, '[') + std::string(65, ']'), "F"},
      {"200,000 levels", deep, "F"},
      {"levels in a field", "{\"cmd\": \"state\", \"x\": " + deep + "}", "F"},
      {"levels of objects", repeated("{\"cmd\":", 9'000), "F"},
      {"an unknown request", "{\"cmd\": \"dance\"}", "R"},
      {"capitals", "{\"cmd\": \"PAUSE\"}", "R"},
      {"a zero byte in a name", "{\"cmd\": \"pause\\u0000\"}", "R"},
      {"a long name", "{\"cmd\": \"" + std::string(100'000, 'a') + "\"}", "R"},
      {"two cmds", "{\"cmd\": \"dance\", \"cmd\": \"state\"}", "G"},
      {"fields that mean nothing", "{\"cmd\": \"state\", \"tensor\": [1], \"x\": {}}", "G"},
      {"64 levels that mean nothing",
       "{\"cmd\": \"state\", \"x\": " + std::string(63, '[') + std::string(63, ']') + "}", "G"},
      {"a hundred thousand numbers",
       "{\"cmd\": \"state\", \"x\": [0" + repeated(",0", 100'000) + "]}", "G"},
  };
  for (const Stream& body : bodies)
    expectAnswers(body.name, framed(body.bytes) + kGood, body.answers + "G");
}

/// A field of a request, and the values below that it accepts.
struct Field {
  json request;
  std::string path;     ///< a JSON pointer
  std::string accepts;  ///< letters of kValuesByLetter
};

/// Values by letter: n null, b boolean, z 0, i a small integer, m −1, w just beyond 32 bits, l
/// beyond 64 bits with a sign. Also h the largest of 64 bits, f a fraction, t text, e an empty
/// list, a a list of an integer, x a list of text, o an object.
const std::vector<std::pair<char, json>> kValuesByLetter = {
    {'n', nullptr},
    {'b', true},
    {'z', 0},
    {'i', 3},
    {'m', -1},
    {'w', 2'147'483'648},
    {'l', std::uint64_t{1} << 63},
    {'h', std::numeric_limits<std::uint64_t>::max()},
    {'f', 1.5},
    {'t', "a word"},
    {'e', json::array()},
    {'a', {7}},
    {'x', {"a"}},
    {'o', json::object()},
};

TEST(HostileControlTest, EveryFieldOfEveryRequestTakesItsOwnTypeAndRefusesTheOthers) {
  const std::string lists = "nea", ints = "zim";
  const json place = {{"cmd", "break"}, {"at", {{"layer", 1}}}};
  const json read = {{"cmd", "read"}, {"tensor", "q"}};
  const std::vector<Field> fields = {
      {{{"cmd", "hello"}, {"control", 0}}, "/control", ints},
      {{{"cmd", "hello"}, {"control", 0}}, "/at_end_of_input", "n"},
      {{{"cmd", "step"}}, "/unit", "n"},
      {place, "/at", "no"},
      {place, "/at/train_step", ints},
      {place, "/at/layer", ints},
      {place, "/at/stage", ints},
      {place, "/at/direction", ""},
      {place, "/at/hour", ""},
      {place, "/on", "n"},
      {{{"cmd", "break"}, {"on", "divergence"}}, "/ratio", "niwlhf"},
      {{{"cmd", "inject"}, {"mistake", "a"}}, "/mistake", "t"},
      {{{"cmd", "lift"}, {"mistake", "a"}}, "/mistake", "t"},
      {{{"cmd", "capture"}, {"policy", "none"}}, "/policy", "t"},
      {read, "/rank", "n" + ints},
      {read, "/tensor", "t"},
      {read, "/layer", "n" + ints},
      {read, "/lead", lists},
      {read, "/begin", lists},
      {read, "/end", lists},
      {{{"cmd", "resend"}, {"first", 1}, {"last", 2}}, "/first", "ziwlh"},
      {{{"cmd", "resend"}, {"first", 1}, {"last", 2}}, "/last", "ziwlh"},
      {{{"cmd", "non_finite"}, {"on", true}}, "/on", "b"},
  };
  for (const Field& field : fields)
    for (const auto& [letter, value] : kValuesByLetter) {
      json request = field.request;
      request["id"] = 3;
      request[json::json_pointer(field.path)] = value;
      const bool fine = field.accepts.find(letter) != std::string::npos;
      expectAnswers(request.dump(), framed(request) + kGood, fine ? "GG" : "RG");
    }
  for (const auto& [letter, value] : kValuesByLetter) {
    const json id = {{"cmd", "state"}, {"id", value}}, cmd = {{"cmd", value}};
    const bool whole = std::string("nzimw").find(letter) != std::string::npos;
    expectAnswers(id.dump(), framed(id) + kGood, whole ? "GG" : "FG");
    expectAnswers(cmd.dump(), framed(cmd) + kGood, letter == 't' ? "RG" : "FG");
  }
}

/// Decodes a document with each of its values replaced or removed.
template <typename Decode>
void mutate(const json& document, const Decode& decode) {
  int refused = 0;
  const json flat = document.flatten();
  std::vector<std::string> paths{""};
  for (const auto& [path, value] : flat.items())
    for (std::size_t end = path.find('/', 1); !path.empty(); end = path.find('/', end + 1)) {
      paths.push_back(path.substr(0, end));
      if (end == std::string::npos) break;
    }
  for (const std::string& path : paths)
    for (const auto& [letter, value] : kValuesByLetter) {
      json other = document;
      other[json::json_pointer(path)] = value;
      try {
        decode(other);
      } catch (const Error&) {
        ++refused;
      }
    }
  EXPECT_GT(refused, 3) << document;
}

TEST(HostileControlTest, MessagesOfARunAreDecodedOrRejectedForAllTypes) {
  const Place place{1, Layer::of(2), Direction::kBackward, RingStep::of(3)};
  const LiveTensorEntry entry{WorldRank::of(1), "q", Layer::of(0), "step 1", "float32", {2, 3}};
  const std::vector<Message> messages = {
      Reply{"pause", 1, StopReport{"run", place, 7, 8, false}},
      Reply{"state", 2, StateReport{true, false, false, place, "run", 1, 2, 3, {"a disk"}}},
      Reply{"inject", 3, ChangedFrom{4}},
      Reply{"tensors", 4, TensorList{{entry, entry}}},
      Reply{"read", 5, TensorSlice{entry, {0, 0}, {1, 2}, {1.5, -2}}},
      Reply{"resend", 6, Resent{3}},
      Reply{"flush", 7, Flushed{1, 2}},
      Reply{"step", 8, Refused{"no"}},
      EngineHello{0, 2, "run", {"pause"}},
      Waiting{"pause", 9, {{WorldRank::of(3), place}}},
      StoppedByBreak{{"run", place, 7, 8, false}},
      End{"run", true, ""},
      Failure{"a sentence"},
  };
  for (const Message& message : messages) {
    const Bytes bytes = encodeMessage(message);
    FrameDecoder decoder;
    decoder.feed(bytes.data(), bytes.size());
    mutate(parseFrameJson(*decoder.next()), decodeMessage);
  }
}

TEST(HostileControlTest, SendsASentenceWithANameThatIsNotUtf8) {
  const std::string sentence = "/tmp/\xff\xfe.rscope: no such file";
  for (const Message& message :
       {Message(Failure{sentence}), Message(Reply{"resend", 1, Refused{sentence}}),
        Message(End{"run", false, sentence}),
        Message(
            Reply{"state", 1, StateReport{false, true, false, {}, "run", 0, 0, 0, {sentence}}})}) {
    const Bytes bytes = encodeMessage(message);
    FrameDecoder decoder;
    decoder.feed(bytes.data(), bytes.size());
    EXPECT_NE(parseFrameJson(*decoder.next()).dump().find("rscope"), std::string::npos);
  }
}

}  // namespace
}  // namespace ringscope::traces::control
