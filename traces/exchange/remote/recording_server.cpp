// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/remote/recording_server.h"

#include <array>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "traces/exchange/remote/serve_messages.h"
#include "traces/format/core/error.h"
#include "traces/format/core/mutex.h"
#include "traces/format/core/sentence_of.h"
#include "traces/format/stream/frame_writer.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kQueueBytes = 8u << 20;

/// The answers that nobody reads any more.
struct ReaderGone : std::exception {
  const char* what() const noexcept override { return "the reader has gone away"; }
};

/// A sender of Busy messages while a request is being answered.
class Heartbeat {
 public:
  explicit Heartbeat(FrameWriter& out)
      : out_(out), thread_([this](const std::stop_token& stop) { beat(stop); }) {}
  ~Heartbeat() {
    thread_.request_stop();
    setBusy(false);
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  void setBusy(bool busy) RINGSCOPE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    busy_ = busy;
    changed_.notifyAll();
  }

 private:
  void beat(const std::stop_token& stop) RINGSCOPE_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
      changed_.waitFor(lock, std::chrono::seconds(1), [&] { return stop.stop_requested(); });
      if (busy_ && !stop.stop_requested()) out_.offer(encodeServeMessage(Busy{}));
    }
  }

  FrameWriter& out_;
  Mutex mutex_;
  Condition changed_;
  bool busy_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

/// The server of one open recording.
class RecordingServer {
 public:
  RecordingServer(ChunkSource& source, FrameWriter& out) : source_(source), out_(out) {}

  void answer(const ServeRequest& request) {
    std::visit([this](const auto& asked) { take(asked); }, request);
  }

 private:
  void take(const ListRequest&) {
    const auto problem = [&](std::string sentence) { send(ServedProblem{std::move(sentence)}); };
    source_.list(
        [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
          if (info.kind == ChunkKind::kSummaries) sendChunk(read());
        },
        [](const std::string&) {});  // the second pass reports all problems
    source_.list(
        [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
          if (info.kind == ChunkKind::kSummaries) return;
          if (info.kind == ChunkKind::kValues || info.summary) return add(info);
          sendChunk(read());
        },
        problem);
    sendHeaders();
    send(Listed{});
  }

  void take(const ReadRequest& request) {
    refusing([&] { sendChunk(source_.read(request.seq)); });
  }

  void take(const ValuesRequest& request) {
    refusing([&] {
      std::optional<Bytes> values = source_.values(TensorId::of(request.tensor));
      if (!values) return send(NoValues{});
      Chunk chunk;
      chunk.kind = ChunkKind::kValues;
      chunk.key = request.tensor;
      chunk.rows = 1;
      chunk.body = std::move(*values);
      sendChunk(std::move(chunk));
    });
  }

  template <typename Answer>
  void refusing(Answer answer) {
    try {
      answer();
    } catch (const Error& error) {
      send(Refusal{error.what()});
    }
  }

  void add(const ChunkHeader& header) {
    headers_.push_back(header);
    if (headers_.size() == kMostHeaders) sendHeaders();
  }

  void sendHeaders() {
    if (!headers_.empty()) send(std::exchange(headers_, {}));
  }

  void sendChunk(Chunk chunk) {
    if (chunk.body.size() > kMostServedBytes)
      throw inputError(describe(chunk) + " is too large to be sent; copy the recording instead");
    sendHeaders();  // chunks are listed in the order of writing
    chunk.checksum = computeChecksum(chunk);
    send(std::move(chunk));
  }

  void send(const ServeMessage& message) {
    if (!out_.waitAndSend(encodeServeMessage(message))) throw ReaderGone();
  }

  ChunkSource& source_;
  FrameWriter& out_;
  ServedHeaders headers_;
};

/// Waits for the next request. Returns nothing at the end of the input.
std::optional<ServeRequest> nextRequest(FrameDecoder& decoder, const ReadInput& input) {
  std::array<char, 4096> buffer;
  for (;;) {
    if (const auto frame = decoder.next()) return decodeServeRequest(*frame);
    const std::size_t count = input(buffer);
    if (count == 0) return std::nullopt;
    decoder.feed(buffer.data(), count);
  }
}

/// Opens the recording. Returns null when it cannot be opened, and tells the reader why.
std::shared_ptr<ChunkSource> open(const ServedRecording& recording, FrameWriter& out) {
  try {
    auto source = recording.open();
    out.send(encodeServeMessage(Opened{recording.bytes()}));
    return source;
  } catch (const std::exception& error) {
    out.send(encodeServeMessage(Refusal{toSentence(error)}));
    return nullptr;
  }
}

}  // namespace

void serveRecording(const ServedRecording& recording, const ReadInput& input, int output) {
  FrameWriter out(output, kQueueBytes);
  Heartbeat heartbeat(out);
  out.send(encodeServeMessage(ServerHello{kServeVersion, kFormatVersion, recording.release}));
  heartbeat.setBusy(true);
  const auto source = open(recording, out);
  heartbeat.setBusy(false);
  if (!source) return;
  RecordingServer server(*source, out);
  FrameDecoder decoder(kMaxRequestBytes);
  try {
    while (const auto request = nextRequest(decoder, input)) {
      heartbeat.setBusy(true);
      server.answer(*request);
      heartbeat.setBusy(false);
    }
  } catch (const ReaderGone&) {
  }
}

}  // namespace ringscope::traces
