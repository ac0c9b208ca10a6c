// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"
#include "traces/exchange/control/messages.h"

namespace ringscope::traces::control {
namespace {

using nlohmann::json;

/// Returns the document of the one frame in these bytes.
json sentBy(const Bytes& bytes) {
  FrameDecoder decoder;
  decoder.feed(bytes.data(), bytes.size());
  const auto frame = decoder.next();
  return frame ? parseFrameJson(*frame) : json();
}

template <typename Type>
Type asked(const Type& request) {
  return std::get<Type>(decodeRequest(sentBy(encodeRequest(request, 7))));
}

template <typename Type>
Type said(const Type& message) {
  return std::get<Type>(decodeMessage(sentBy(encodeMessage(message))));
}

/// Returns what the other end receives of an answer to the request `cmd`.
template <typename Type>
Type answered(const char* cmd, const Type& answer) {
  return std::get<Type>(said(Reply{cmd, 3, answer}).answer);
}

const Place kPlace = test::placeAt(3, 1, Direction::kBackward, 2);

TEST(ControlMessagesTest, EveryRequestArrivesUnderItsNameAndNumber) {
  const Request all[] = {Hello{},
                         Pause{},
                         Continue{},
                         Stop{},
                         AskState{},
                         ListTensors{},
                         Flush{},
                         Step{},
                         Break{},
                         Inject{"a"},
                         Lift{"a"},
                         SetCapture{"none"},
                         ReadTensor{WorldRank::of(0), "q", Layer::of(1), {}, {}, {}},
                         Resend{1, 2},
                         BreakOnNonFinite{true}};
  ASSERT_EQ(std::size(all), std::variant_size_v<Request>) << "a request is not tested";
  for (const Request& request : all) {
    const json message = sentBy(encodeRequest(request, 7));
    EXPECT_EQ(RequestHead::from(message).cmd, nameFor(request));
    EXPECT_EQ(RequestHead::from(message).id, 7);
    EXPECT_EQ(decodeRequest(message).index(), request.index()) << nameFor(request);
  }
}

TEST(ControlMessagesTest, RequestsKeepTheirFields) {
  EXPECT_EQ(asked(Hello{5, true}).version, 5);
  EXPECT_TRUE(asked(Hello{5, true}).stop_at_end_of_input);
  EXPECT_EQ(asked(Step{StepUnit::kTrainStep}).unit, StepUnit::kTrainStep);
  EXPECT_EQ(asked(Inject{"naive_sum_merge"}).mistake, "naive_sum_merge");
  EXPECT_EQ(asked(Resend{4, std::numeric_limits<std::uint64_t>::max()}).last,
            std::numeric_limits<std::uint64_t>::max());
  const ReadTensor read = asked(ReadTensor{WorldRank::of(2), "lse", Layer::of(1), {0}, {}, {3, 4}});
  EXPECT_EQ(read.rank, WorldRank::of(2));
  EXPECT_EQ(read.tensor, "lse");
  EXPECT_EQ(read.layer, Layer::of(1));
  EXPECT_EQ(read.lead, std::vector<std::int64_t>{0});
  EXPECT_TRUE(read.begin.empty());
  EXPECT_EQ(read.end, (std::vector<std::int64_t>{3, 4}));
}

TEST(ControlMessagesTest, ABreakKeepsItsPlaceAndItsLimit) {
  Break request;
  request.at = BreakPoint{3, std::nullopt, Direction::kBackward, RingStep::of(2)};
  request.on_divergence = true;
  request.ratio = 10;
  const Break arrived = asked(request);
  EXPECT_TRUE(arrived.at->matches(kPlace));
  EXPECT_FALSE(arrived.at->matches(test::placeAt(3, 1, Direction::kForward, 2)));
  EXPECT_TRUE(arrived.on_divergence);
  EXPECT_FALSE(arrived.on_non_finite);
  EXPECT_EQ(arrived.ratio, 10);
  EXPECT_FALSE(asked(Break{}).at) << "nothing asked for is a break at no place";
  EXPECT_TRUE(decodeRequest({{"cmd", "break"}, {"at", json::object()}}).index() ==
              Request(Break{}).index());
}

TEST(ControlMessagesTest, AnswersKeepTheirFields) {
  const StopReport stop = answered("pause", StopReport{"run", kPlace, 12, 34, false});
  EXPECT_EQ(stop.place, kPlace);
  EXPECT_EQ(stop.chunk_watermark, 12u);
  EXPECT_FALSE(answered("step", StopReport{"run", std::nullopt, 1, 2, true}).place);
  const StateReport state =
      answered("state", StateReport{true, false, false, kPlace, "run", 1, 2, 3, {"disk full"}});
  EXPECT_TRUE(state.running);
  EXPECT_EQ(state.dropped_events, 3u);
  EXPECT_EQ(state.failed_sinks, std::vector<std::string>{"disk full"});
  EXPECT_EQ(answered("lift", ChangedFrom{9}).from_train_step, 9);
  EXPECT_EQ(answered("flush", Flushed{1, 2}).dropped_tensors, 2u);
  EXPECT_EQ(answered("resend", Resent{3}).sent, 3u);
  EXPECT_EQ(answered("continue", Refused{"it is over"}).error, "it is over");
  const TensorList list = answered(
      "tensors", TensorList{{{WorldRank::of(1), "q", Layer::of(0), "step 1", "float32", {2}}}});
  ASSERT_EQ(list.tensors.size(), 1u);
  EXPECT_EQ(list.tensors[0].dtype, "float32");
}

TEST(ControlMessagesTest, ASliceKeepsNumbersThatJsonHasNotGot) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  TensorSlice slice{
      {WorldRank::of(0), "lse", Layer::of(1), "step 1", "float32", {4}}, {0}, {4}, {}};
  slice.values = {1.5, kInfinity, -kInfinity, std::nan("")};
  const TensorSlice arrived = answered("read", slice);
  ASSERT_EQ(arrived.values.size(), 4u);
  EXPECT_EQ(arrived.values[0], 1.5);
  EXPECT_EQ(arrived.values[1], kInfinity);
  EXPECT_EQ(arrived.values[2], -kInfinity);
  EXPECT_TRUE(std::isnan(arrived.values[3]));
}

TEST(ControlMessagesTest, UnsolicitedMessagesOfARunArrive) {
  const EngineHello hello = said(EngineHello{kControlVersion, 4, "run", {"pause"}});
  EXPECT_EQ(hello.format, 4);
  EXPECT_EQ(hello.capabilities, std::vector<std::string>{"pause"});
  const Waiting waiting = said(Waiting{"pause", 5, {{WorldRank::of(2), kPlace}}});
  EXPECT_EQ(waiting.id, 5);
  ASSERT_EQ(waiting.late.size(), 1u);
  EXPECT_EQ(waiting.late[0].rank, WorldRank::of(2));
  EXPECT_EQ(waiting.late[0].place, kPlace);
  EXPECT_EQ(said(StoppedByBreak{{"run", kPlace, 8, 9, false}}).report.chunk_watermark, 8u);
  EXPECT_EQ(said(End{"run", true, "rank 1 was killed"}).reason, "rank 1 was killed");
  EXPECT_EQ(said(Failure{"no"}).error, "no");
}

struct Hostile {
  const char* name;
  const char* text;    ///< text of the frame
  const char* reason;  ///< reason in the error
};

class HostileRequestTest : public testing::TestWithParam<Hostile> {};

TEST_P(HostileRequestTest, IsRefusedWithTheFieldThatIsWrong) {
  const json message = json::parse(GetParam().text);
  try {
    decodeRequest(message);
    ADD_FAILURE() << "taken: " << GetParam().text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().reason), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, HostileRequestTest,
    testing::Values(
        Hostile{"NoObject", "[1, 2]", "must be a JSON object"},
        Hostile{"NoCommand", R"({"no": "cmd"})", "\"cmd\""},
        Hostile{"CommandThatIsANumber", R"({"cmd": 7})", "\"cmd\" of a request must be text"},
        Hostile{"UnknownCommand", R"({"cmd": "dance"})", "'dance' is not a request"},
        Hostile{"NumberAsText", R"({"cmd": "pause", "id": "seven"})", "\"id\""},
        Hostile{"HelloWithoutVersion", R"({"cmd": "hello"})", "\"control\""},
        Hostile{"UnknownUnit", R"({"cmd": "step", "unit": "mile"})",
                "there is no unit of a step 'mile'"},
        Hostile{"UnitThatIsAList", R"({"cmd": "step", "unit": ["stage"]})", "\"unit\""},
        Hostile{"RankThatIsText", R"({"cmd": "read", "tensor": "q", "rank": "0"})", "\"rank\""},
        Hostile{"RankBeyondItsType", R"({"cmd": "read", "tensor": "q", "rank": 99999999999})",
                "an integer from"},
        Hostile{"LayerWithAFraction", R"({"cmd": "read", "tensor": "q", "layer": 0.5})",
                "\"layer\""},
        Hostile{"BoundsThatAreNone", R"({"cmd": "read", "tensor": "q", "begin": [1, "x"]})",
                "a list of integers"},
        Hostile{"TensorWithoutName", R"({"cmd": "read"})", "\"tensor\""},
        Hostile{"NegativeSequence", R"({"cmd": "resend", "first": -1, "last": 2})", "\"first\""},
        Hostile{"MistakeThatIsAnObject", R"({"cmd": "inject", "mistake": {}})", "\"mistake\""},
        Hostile{"BreakAtAnHour", R"({"cmd": "break", "at": {"hour": 3}})", "'hour'"},
        Hostile{"BreakAtText", R"({"cmd": "break", "at": "noon"})", "must be a JSON object"},
        Hostile{"BreakBeyondNothing", R"({"cmd": "break", "on": "divergence", "ratio": 0})",
                "above 0"},
        Hostile{"SwitchThatIsText", R"({"cmd": "non_finite", "on": "yes"})", "true or false"}),
    [](const auto& which) { return which.param.name; });

class HostileMessageTest : public testing::TestWithParam<Hostile> {};

TEST_P(HostileMessageTest, IsRefusedWithTheFieldThatIsWrong) {
  const json message = json::parse(GetParam().text);
  EXPECT_ERROR(decodeMessage(message), ErrorCode::kInput, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Of, HostileMessageTest,
    testing::Values(
        Hostile{"NoObject", "7", "must be a JSON object"},
        Hostile{"NothingKnown", R"({"weather": "fine"})", "does not have"},
        Hostile{"ReplyThatDoesNotSayWhether", R"({"reply": "pause"})", "\"ok\""},
        Hostile{"RefusalWithoutReason", R"({"reply": "pause", "ok": false})", "\"error\""},
        Hostile{"ReplyToNothing", R"({"reply": "dance", "ok": true})", "'dance'"},
        Hostile{"WatermarkThatIsText",
                R"({"reply": "pause", "ok": true, "run_id": "r", "chunk_watermark": "many"})",
                "\"chunk_watermark\""},
        Hostile{"PlaceWithoutDirection",
                R"({"stopped": "break", "run_id": "r", "place": {"train_step": 1}})",
                "\"direction\""},
        Hostile{"LateRanksThatAreNumbers", R"({"waiting": "pause", "for": [1]})",
                "must be a JSON object"},
        Hostile{"ValuesThatAreWords",
                R"({"reply": "read", "ok": true, "rank": 0, "tensor": "q", "layer": 0,
                    "place": "", "dtype": "float32", "values": ["much"]})",
                "a list of numbers"},
        Hostile{"EndThatIsText", R"({"end": "well"})", "must be a JSON object"}),
    [](const auto& which) { return which.param.name; });

TEST(ControlMessagesTest, AFrameThatIsNoJsonIsRefused) {
  const std::string text = "{\"cmd\": ";
  EXPECT_ERROR(parseFrameJson({FrameType::kJson, Bytes(text.begin(), text.end())}),
               ErrorCode::kInput, "is not valid JSON");
  EXPECT_ERROR(parseFrameJson({FrameType::kJson, {}}), ErrorCode::kInput, "is not valid JSON");
}

}  // namespace
}  // namespace ringscope::traces::control
