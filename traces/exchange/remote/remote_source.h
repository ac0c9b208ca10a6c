// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "traces/exchange/remote/remote_connection.h"
#include "traces/format/core/mutex.h"
#include "traces/format/storage/chunk_source.h"

namespace ringscope::traces {

/// The chunks of a recording on another machine. Each chunk is sent when it is read first. A thread
/// that reads the events of a rank in order receives several chunks per round trip. Any thread may
/// call it; calls wait for one another. The server is untrusted, as a file is.
class RemoteSource : public ChunkSource {
 public:
  /// Takes a connection whose recording is open.
  explicit RemoteSource(std::unique_ptr<RemoteConnection> connection)
      : machine_(connection->machine()), connection_(std::move(connection)) {}

  void list(const Take& take, const Problem& problem) override RINGSCOPE_EXCLUDES(mutex_);
  Chunk read(std::uint64_t seq) override RINGSCOPE_EXCLUDES(mutex_);
  std::optional<Bytes> values(TensorId tensor) override RINGSCOPE_EXCLUDES(mutex_);

 private:
  /// A part of the server's answer to a ListRequest, in the order of writing.
  using ListedPart = std::variant<ChunkHeader, Chunk, ServedProblem>;
  /// The place of a chunk of events among those of its rank.
  struct EventsPlace {
    WorldRank rank;
    std::size_t index = 0;
  };
  /// The chunks of events of one rank.
  struct RankChunks {
    std::vector<std::uint64_t> seqs;
    std::size_t next = 0;  ///< the index behind the chunk that was read last
  };

  std::vector<ListedPart> receiveListing(EventSummaries& summaries) RINGSCOPE_REQUIRES(mutex_);
  void notePlaces(const std::vector<ListedPart>& listing) RINGSCOPE_REQUIRES(mutex_);
  Chunk readNow(std::uint64_t seq) RINGSCOPE_REQUIRES(mutex_);
  std::vector<std::uint64_t> chooseAhead(std::uint64_t seq) RINGSCOPE_REQUIRES(mutex_);
  void keepAhead(Chunk chunk) RINGSCOPE_REQUIRES(mutex_);
  std::optional<Chunk> takeAhead(std::uint64_t seq) RINGSCOPE_REQUIRES(mutex_);
  /// Receives the answer to a ReadRequest. Throws only when the connection is lost.
  std::variant<Chunk, Refusal> receiveChunk(std::uint64_t seq) RINGSCOPE_REQUIRES(mutex_);

  const std::string machine_;
  Mutex mutex_;
  std::unique_ptr<RemoteConnection> connection_ RINGSCOPE_GUARDED_BY(mutex_);
  std::map<std::uint64_t, EventsPlace> places_ RINGSCOPE_GUARDED_BY(mutex_);
  std::map<WorldRank, RankChunks> ranks_ RINGSCOPE_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Chunk> ahead_ RINGSCOPE_GUARDED_BY(mutex_);
  std::size_t ahead_bytes_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
};

/// Opens a recording on another machine by its address. Throws usageError for a malformed address,
/// and inputError that says what to do when the recording cannot be opened.
std::shared_ptr<RemoteSource> openRemote(const std::string& address);

/// Returns the size of the recording's files, as the other machine stated it when this process
/// opened the address last; 0 before that.
std::uint64_t remoteSize(const std::string& address);

}  // namespace ringscope::traces
