// SPDX-License-Identifier: Apache-2.0
// Recordings that a child process serves, as `ssh` does.
#include "traces/exchange/remote/remote_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "tests/support/chunks_of_steps.h"
#include "tests/support/eventually.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/remote_machine.h"
#include "traces/analysis/report/summary.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/shell_word.h"
#include "traces/format/storage/sqlite_sink.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;
using test::RemoteMachine;

std::string here(const std::string& path) {
  return shellAddress("sh -c", path);
}

/// Returns a shell command that passes its input on. A byte is in the file before it is passed on,
/// because `tee` writes to its standard output first.
std::string keptIn(const std::string& file) {
  return "tee /dev/fd/3 3>&1 > " + file;
}

/// Everything that a source has: chunks by number, values by tensor, and problems.
struct Content {
  std::map<std::uint64_t, Bytes> chunks, values;
  std::vector<std::string> problems;
};

Content contentFrom(ChunkSource& source) {
  Content content;
  std::vector<std::uint64_t> tensors, events;
  source.list(
      [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
        if (info.kind == ChunkKind::kValues)
          tensors.push_back(info.key);
        else if (info.summary)
          events.push_back(info.seq);
        else if (info.kind != ChunkKind::kSummaries)
          content.chunks[info.seq] = read().body;
      },
      [&](const std::string& problem) { content.problems.push_back(problem); });
  for (const std::uint64_t seq : events) content.chunks[seq] = source.read(seq).body;
  for (const std::uint64_t id : tensors)
    content.values[id] = source.values(TensorId::of(id)).value();
  return content;
}

void expectSameContent(const std::string& path) {
  const auto expected = contentFrom(*openSource(path)), got = contentFrom(*openSource(here(path)));
  EXPECT_FALSE(expected.chunks.empty());
  EXPECT_EQ(got.chunks, expected.chunks);
  EXPECT_EQ(got.values, expected.values);
  EXPECT_EQ(got.problems, expected.problems);
}

TEST(RemoteSourceTest, HasEveryChunkAndValueOfTheFile) {
  RemoteMachine machine;
  expectSameContent(test::sampleRecording());
}

TEST(RemoteSourceTest, HasEveryChunkAndValueOfAnImportedFolder) {
  RemoteMachine machine;
  expectSameContent(test::reference("recording"));
}

TEST(RemoteSourceTest, ATraceSaysTheSameAsThatOfTheFile) {
  RemoteMachine machine;
  const std::string path = test::sampleRecording(), address = here(path);
  const auto near = openTrace(path), far = openTrace(address);
  far->readEvents();
  EXPECT_EQ(far->eventCount(), near->eventCount());
  EXPECT_EQ(far->problems(), near->problems());
  auto expected = summarize(*near, path), got = summarize(*far, address);
  expected["path"] = got["path"];
  EXPECT_EQ(got, expected);
}

TEST(RemoteSourceTest, ValuesAreSentOnlyWhenTheyAreRead) {
  RemoteMachine machine;
  const std::string sent = machine.file("sent");
  const auto source = openSource(
      shellAddress(machine.script("sh -c \"$1\" | " + keptIn(sent)), test::sampleRecording()));
  const auto trace = readTrace(source);
  const auto opened = fs::file_size(sent);
  EXPECT_LT(opened, fs::file_size(test::sampleRecording()) / 2);
  for (const TensorRecord& tensor : trace->tensors()) {
    const auto bytes = trace->bytes(tensor);
    if (bytes && bytes->size() > 256) break;
  }
  EXPECT_GT(fs::file_size(sent), opened + 256);
}

constexpr std::size_t kChunks = 10, kRows = 16'384;  // closing merges smaller chunks

/// A recording of ten chunks of events of rank 1 on another machine, with the requests that it has
/// received.
class ManyChunks {
 public:
  ManyChunks() {
    SqliteSink sink(path_);
    for (std::uint64_t seq = 1; seq <= kChunks; ++seq) {
      std::vector<Event> events(kRows);
      for (std::size_t i = 0; i < kRows; ++i)
        events[i] =
            test::eventAt(1, test::placeFor(0, 0), static_cast<std::int64_t>(seq * kRows + i),
                          static_cast<std::int64_t>(seq * kRows + i + 1));
      Chunk chunk = makeChunk(std::span<const Event>(events));
      chunk.rank = WorldRank::of(1);
      chunk.seq = seq;
      chunk.checksum = computeChecksum(chunk);
      sink.write(chunk);
    }
    sink.close();
  }
  std::shared_ptr<ChunkSource> far() {
    const std::string server = keptIn(requests_) + " | sh -c \"$1\"";
    return openSource(shellAddress(machine_.script(server), path_));
  }
  const std::string& path() const { return path_; }
  std::size_t requestedBytes() const { return fs::file_size(requests_); }

 private:
  RemoteMachine machine_;
  std::string path_ = machine_.file("many.rscope"), requests_ = machine_.file("requests");
};

TEST(RemoteSourceTest, ReadingARankInOrderGivesItsEvents) {
  ManyChunks many;
  const auto near = openTrace(many.path()), far = readTrace(many.far());
  std::vector<std::int64_t> expected, got;
  for (const Event& event : near->events(WorldRank::of(1))) expected.push_back(event.begin_ns);
  for (const Event& event : far->events(WorldRank::of(1))) got.push_back(event.begin_ns);
  EXPECT_EQ(expected.size(), kChunks * kRows);
  EXPECT_EQ(got, expected);
  EXPECT_EQ(far->problems(), near->problems());
}

TEST(RemoteSourceTest, ReadingARankInOrderSavesRoundTrips) {
  ManyChunks many;
  const auto far = many.far();
  std::vector<std::uint64_t> seqs;
  far->list(
      [&](const ChunkInfo& info, const auto&) {
        if (info.kind == ChunkKind::kEvents && info.rank == WorldRank::of(1))
          seqs.push_back(info.seq);
      },
      [](const std::string& problem) { ADD_FAILURE() << problem; });
  ASSERT_EQ(seqs.size(), kChunks);
  const auto requested = [&](std::size_t chunk) {
    const std::size_t before = many.requestedBytes();
    far->read(seqs[chunk]);
    return many.requestedBytes() - before;
  };
  const std::size_t one = requested(0);
  EXPECT_GT(one, 0u);
  EXPECT_EQ(requested(1), 8 * one);  // the second in order asks for those that follow
  for (std::size_t chunk = 2; chunk <= 8; ++chunk) EXPECT_EQ(requested(chunk), 0u) << chunk;
}

TEST(RemoteSourceTest, SeveralThreadsReadOneConnection) {
  RemoteMachine machine;
  const std::string path = test::sampleRecording();
  const auto near = openTrace(path), far = openTrace(here(path));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < near->worldSize(); ++rank)
    threads.emplace_back([&, rank = WorldRank::of(static_cast<std::int16_t>(rank))] {
      std::size_t count = 0;
      for ([[maybe_unused]] const Event& event : far->events(rank)) ++count;
      EXPECT_EQ(count, near->eventCount(rank));
      for (const TensorRecord& tensor : near->tensors())
        EXPECT_TRUE(far->bytes(tensor) == near->bytes(tensor));
    });
}

TEST(RemoteSourceTest, TextOfStartUpFilesIsSkipped) {
  RemoteMachine machine;
  const std::string noisy = machine.script("echo 'Welcome to ringscope'; exec sh -c \"$1\"");
  EXPECT_GT(openTrace(shellAddress(noisy, test::sampleRecording()))->eventCount(), 0u);
}

TEST(RemoteSourceTest, SaysWhyTheRecordingThereCannotBeOpened) {
  RemoteMachine machine;
  EXPECT_ERROR(openTrace(here("/no/such/file")), ErrorCode::kInput, "/no/such/file: no such file");
  EXPECT_ERROR(openTrace(here(test::sampleText())), ErrorCode::kInput, "is not a RingScope trace");
}

TEST(RemoteSourceTest, SaysWhatToDoWhenNoServerAnswers) {
  RemoteMachine machine;
  const auto expect = [&](const std::string& prefix, const char* words) {
    EXPECT_ERROR(openTrace(shellAddress(prefix, "/x")), ErrorCode::kInput, words);
  };
  expect("no-such-program", "Install it");
  expect(machine.script("exit 127"), "set RINGSCOPE_REMOTE to its path");
  expect(machine.script("echo 'Permission denied (publickey).' >&2; exit 255"),
         "cannot be reached: Permission denied (publickey).. Try");
  expect(machine.script("echo \"ringscope: there is no command 'serve'\" >&2; exit 2"), "too old");
  expect(machine.script("echo odd >&2; exit 7"), "ended with exit code 7: odd");
}

TEST(RemoteSourceTest, TheServerEndsWithItsReader) {
  RemoteMachine machine;
  const std::string file = machine.file("pid");
  const test::SetVariable program(
      "RINGSCOPE_REMOTE",
      "sh -c 'echo $$ > " + file + "; exec \"$0\" \"$@\"' " + quoteWord(test::kProgram));
  openTrace(here(test::sampleRecording()));
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  ASSERT_GT(pid, 0);
  const std::string arguments = "/proc/" + std::to_string(pid) + "/cmdline";
  EXPECT_TRUE(test::eventually([&] { return test::readContent(arguments).empty(); },
                               std::chrono::seconds(10)));
}

}  // namespace
}  // namespace ringscope::traces
