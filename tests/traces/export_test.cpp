// SPDX-License-Identifier: Apache-2.0
// The content of exports, read by decoders that share no code with the writers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/proto_fields.h"
#include "tests/support/run_program.h"
#include "tests/support/trace_builder.h"
#include "traces/exchange/export/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/safetensors/safetensors.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;
using test::ProtoFields;
using test::sampleRecording;

constexpr const char* kOneHop = R"(
  run cp=2 strategy=ring mask=causal seq_len=8
  tensor out rank=0 layer=0 shape=1x1x2x1 values=1,-3
  tensor out rank=1 layer=0 shape=1x1x1x1 values=0.5
  tensor q rank=1 layer=0 shape=1x1x2x1 min=-2 max=5
  attend rank=0 layer=0 stage=0 source=0 q=0-4 k=0-4 time=1000-10001 cpu=8
  send rank=0 peer=1 payload=kv flow=7 layer=0 stage=0 bytes=64 time=1500-4000
  receive rank=1 peer=0 payload=kv flow=7 layer=0 stage=0 bytes=64 time=2000-9000
  attend rank=1 layer=0 stage=0 source=1 q=0-4 k=0-4 time=0-20
  memory kv rank=0 bytes=100 time=5
  end)";

std::string written(Exported (*write)(const Trace&, std::ostream&), const Trace& trace) {
  std::ostringstream out;
  write(trace, out);
  return out.str();
}

using Spans = std::multiset<std::pair<std::uint64_t, std::uint64_t>>;

/// The content of a Perfetto trace by the numbers of its public definitions: events in the order of
/// their times. An end belongs to the last begin on its track.
struct Perfetto {
  explicit Perfetto(const std::string& bytes) {
    std::vector<std::pair<std::uint64_t, ProtoFields>> events;
    const ProtoFields whole(bytes);
    for (const auto& [field, text] : whole.messages) {
      EXPECT_EQ(field, 1u);
      const ProtoFields packet(text);
      if (const auto* track = packet.message(60)) tracks.insert(ProtoFields(*track).number(1));
      if (const auto* event = packet.message(11))
        events.emplace_back(packet.number(8), ProtoFields(*event));
    }
    std::ranges::stable_sort(events, {}, [](const auto& event) { return event.first; });
    for (const auto& [time, event] : events) read(time, event);
    for (const auto& [track, begun] : open) EXPECT_TRUE(begun.empty()) << track;
  }
  void read(std::uint64_t time, const ProtoFields& event) {
    const std::uint64_t track = event.number(11), type = event.number(9);
    EXPECT_TRUE(tracks.contains(track));
    if (type == 1) {
      open[track].push_back(time);
      titles.insert(*event.message(23));
    } else if (type == 2) {
      ASSERT_FALSE(open[track].empty()) << "an end without its begin";
      spans.emplace(open[track].back(), time);
      open[track].pop_back();
    } else {
      EXPECT_EQ(type, 4u);
      counters.push_back(event.number(30));
    }
    if (event.has(47)) starts.insert(event.number(47));
    if (event.has(48)) ends.insert(event.number(48));
  }
  std::set<std::uint64_t> tracks;
  std::map<std::uint64_t, std::vector<std::uint64_t>> open;
  Spans spans;
  std::vector<std::uint64_t> counters;
  std::multiset<std::uint64_t> starts, ends;
  std::set<std::string> titles;
};

TEST(ExportTest, PerfettoHasEveryEventWithItsTimesAndPairsTheFlows) {
  const Perfetto perfetto(written(writePerfetto, *test::makeTrace(kOneHop)));
  EXPECT_EQ(perfetto.spans, (Spans{{0, 20}, {1000, 10001}, {1500, 4000}, {2000, 9000}}));
  EXPECT_EQ(perfetto.titles, (std::set<std::string>{"attend", "receive kv", "send kv"}));
  EXPECT_EQ(perfetto.starts, (std::multiset<std::uint64_t>{7}));
  EXPECT_EQ(perfetto.ends, perfetto.starts);
  EXPECT_EQ(perfetto.counters, (std::vector<std::uint64_t>{100}));
}

TEST(ExportTest, PerfettoOfTheSampleNestsAndHasAsManyEventsAndSamples) {
  const auto sample = openTrace(sampleRecording());
  const Perfetto perfetto(written(writePerfetto, *sample));
  EXPECT_FALSE(perfetto.starts.empty());
  EXPECT_EQ(perfetto.starts, perfetto.ends);
  Spans recorded;
  std::size_t samples = 0;
  for (int rank = 0; rank < sample->worldSize(); ++rank) {
    for (const Event& event : sample->events(WorldRank::of(rank)))
      recorded.emplace(event.begin_ns, event.end_ns);
    samples += sample->memory(WorldRank::of(rank)).size();
  }
  EXPECT_EQ(recorded.size(), sample->eventCount());
  EXPECT_EQ(perfetto.spans, recorded);
  EXPECT_EQ(perfetto.counters.size(), samples);
}

TEST(ExportTest, ChromeHasEveryEventWithItsTimesAndPairsTheFlows) {
  const json events = json::parse(written(writeChrome, *test::makeTrace(kOneHop)))["traceEvents"];
  std::map<std::string, std::vector<json>> by_phase;
  for (const json& event : events) {
    by_phase[event["ph"]].push_back(event);
    EXPECT_GT(event["tid"], 0) << "of which Perfetto has one for all processes";
  }
  ASSERT_EQ(by_phase["X"].size(), 4u);
  const json& attend = by_phase["X"][0];
  EXPECT_EQ(attend["name"], "attend");
  EXPECT_EQ(attend["pid"], 0);
  EXPECT_DOUBLE_EQ(attend["ts"], 1.0);
  EXPECT_DOUBLE_EQ(attend["dur"], 9.001);
  EXPECT_EQ(attend["args"]["cpu_ns"], 8);
  ASSERT_EQ(by_phase["s"].size(), 1u);
  ASSERT_EQ(by_phase["f"].size(), 1u);
  EXPECT_EQ(by_phase["s"][0]["id"], by_phase["f"][0]["id"]);
  EXPECT_EQ(by_phase["C"].size(), 1u);
  const auto sample = openTrace(sampleRecording());
  std::size_t whole = 0;
  const json of_sample = json::parse(written(writeChrome, *sample));
  for (const json& event : of_sample["traceEvents"]) whole += event["ph"] == "X" ? 1 : 0;
  EXPECT_EQ(whole, sample->eventCount());
}

TEST(ExportTest, CsvHasARowForEachEvent) {
  const std::string csv = written(writeCsv, *test::makeTrace(kOneHop));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 4);
  EXPECT_TRUE(csv.starts_with("kind,begin_ns,start_ns,end_ns,cpu_ns,bytes,flow,")) << csv;
  EXPECT_NE(csv.find("\r\nsend,1500,1500,4000,0,64,7,"), std::string::npos) << csv;
  const auto sample = openTrace(sampleRecording());
  const std::string whole = written(writeCsv, *sample);
  EXPECT_EQ(static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')),
            1 + sample->eventCount());
}

TEST(ExportTest, SafetensorsHoldTheRecordedValuesAndSayWhatWasNotKept) {
  std::ostringstream out;
  const Exported exported = writeTensors(*test::makeTrace(kOneHop), out);
  EXPECT_EQ(exported.left_out.size(), 1u);
  test::TempDir dir;
  std::ofstream(dir.file("a.safetensors"), std::ios::binary) << out.str();
  const auto file = SafeTensorsFile::read(dir.file("a.safetensors"));
  ASSERT_EQ(file.tensors().size(), 2u);
  const auto& view = file.at("step0/layer0/forward/rank0/out");
  EXPECT_EQ(view.dtype, "F64");
  EXPECT_EQ(view.shape, (std::vector<std::int64_t>{1, 1, 2, 1}));
  double values[2];
  std::memcpy(values, view.data, sizeof values);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], -3);
}

TEST(ExportTest, SafetensorsOfTheSampleAreItsBytes) {
  const auto sample = openTrace(sampleRecording());
  test::TempDir dir;
  const auto exported = exportTrace(sampleRecording(), "safetensors", dir.file("a.safetensors"));
  const auto file = SafeTensorsFile::read(dir.file("a.safetensors"));
  std::multiset<std::string> recorded, read;
  for (const TensorRecord& tensor : sample->tensors())
    if (const auto bytes = sample->bytes(tensor)) recorded.emplace(bytes->begin(), bytes->end());
  for (const auto& [name, view] : file.tensors())
    read.emplace(reinterpret_cast<const char*>(view.data), view.size_bytes);
  EXPECT_FALSE(recorded.empty());
  EXPECT_EQ(read, recorded);
}

TEST(ExportTest, ShiftsEarlyTimesAndWritesAnEmptyFileForNoEvents) {
  const auto early = test::makeTrace("attend rank=0 time=0-10\nmemory kv rank=0 bytes=1 time=-50");
  const Perfetto perfetto(written(writePerfetto, *early));
  EXPECT_EQ(perfetto.spans, (Spans{{50, 60}}));
  const auto nothing = test::makeTrace("");
  EXPECT_EQ(written(writePerfetto, *nothing), "");
  EXPECT_TRUE(json::parse(written(writeChrome, *nothing))["traceEvents"].empty());
  EXPECT_EQ(Perfetto(written(writePerfetto, *test::makeTrace("attend rank=2 time=1-2"))).spans,
            (Spans{{1, 2}}));
}

TEST(ExportTest, NestedEventsShareALaneAndOverlappingOnesDoNot) {
  const auto trace = test::makeTrace(
      "attend rank=0 time=0-10\nmerge rank=0 time=2-5\nwait rank=0 time=8-12\n"
      "send rank=0 peer=0 flow=1 time=0-9\nsend rank=0 peer=0 flow=2 time=1-3");
  const json events = json::parse(written(writeChrome, *trace))["traceEvents"];
  std::map<std::string, std::vector<int>> lanes;
  for (const json& event : events)
    if (event["ph"] == "X") lanes[event["cat"]].push_back(event["tid"]);
  EXPECT_EQ(lanes["attend"], lanes["merge"]);
  EXPECT_NE(lanes["attend"], lanes["wait"]);
  EXPECT_NE(lanes["send"].at(0), lanes["send"].at(1));
}

TEST(ExportTest, ReportsItsProgressAndStopsWithoutAFile) {
  test::TempDir dir;
  std::vector<std::uint64_t> told;
  exportTrace(sampleRecording(), "chrome", dir.file("whole"), [&](std::uint64_t bytes) {
    told.push_back(bytes);
    return true;
  });
  ASSERT_GT(told.size(), 1u);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_LE(told.back(), std::filesystem::file_size(dir.file("whole")));
  EXPECT_ERROR(exportTrace(sampleRecording(), "chrome", dir.file("part"),
                           [](std::uint64_t) { return false; }),
               ErrorCode::kUsage, "stopped");
  EXPECT_FALSE(std::filesystem::exists(dir.file("part")));
  EXPECT_ERROR(exportTrace(sampleRecording(), "chrome", "/dev/full"), ErrorCode::kInput,
               "is the disk full?");
}

TEST(ExportTest, AnUnknownFormatAndTheRecordingItselfAreRefused) {
  test::TempDir dir;
  EXPECT_ERROR(exportTrace(sampleRecording(), "svg", dir.file("a")), ErrorCode::kUsage,
               "there is no format 'svg'");
  const std::string copy = dir.file("a.rscope");
  std::filesystem::copy_file(sampleRecording(), copy);
  EXPECT_ERROR(exportTrace(copy, "csv", copy), ErrorCode::kInput, "--output");
  EXPECT_EQ(test::readContent(copy), test::readContent(sampleRecording()));
}

}  // namespace
}  // namespace ringscope::traces
