// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/remote/remote_source.h"

#include <utility>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

// Bounds of a listing, because a server can send without end.
constexpr std::size_t kMostListed = 16u << 20;
constexpr std::size_t kMostListedBytes = std::size_t{2} << 30;

constexpr std::size_t kBatch = 8;  ///< most chunks per round trip
constexpr std::size_t kMostAheadBytes = 64u << 20;

/// Returns the chunk as this version has it, or the reason against it.
std::variant<Chunk, Refusal> upgradedOrRefused(Chunk chunk, int format) {
  try {
    return upgraded(std::move(chunk), format);
  } catch (const Error& error) {
    return Refusal{error.what()};
  }
}

}  // namespace

std::vector<RemoteSource::ListedPart> RemoteSource::receiveListing(EventSummaries& summaries) {
  std::vector<ListedPart> listing;
  std::size_t bytes = 0;
  const int format = connection_->format();
  const auto add = [&](Chunk chunk) {
    bytes += chunk.body.size();
    auto read = upgradedOrRefused(std::move(chunk), format);
    if (auto* refusal = std::get_if<Refusal>(&read))
      return void(listing.emplace_back(ServedProblem{std::move(refusal->sentence)}));
    auto& whole = std::get<Chunk>(read);
    if (whole.kind != ChunkKind::kSummaries) return void(listing.emplace_back(std::move(whole)));
    try {
      addSummary(summaries, whole);
    } catch (const Error& error) {
      listing.emplace_back(ServedProblem{error.what()});
    }
  };
  connection_->send(ListRequest{});
  for (;;) {
    ServeMessage message = connection_->receive();
    if (std::holds_alternative<Listed>(message)) return listing;
    if (auto* headers = std::get_if<ServedHeaders>(&message))
      listing.insert(listing.end(), headers->begin(), headers->end());
    else if (auto* chunk = std::get_if<Chunk>(&message))
      add(std::move(*chunk));
    else if (auto* problem = std::get_if<ServedProblem>(&message))
      listing.emplace_back(std::move(*problem));
    else
      connection_->reject("an answer that was not asked for");
    if (listing.size() + summaries.size() > kMostListed || bytes > kMostListedBytes)
      connection_->reject("more chunks than a recording can have");
  }
}

void RemoteSource::notePlaces(const std::vector<ListedPart>& listing) {
  places_.clear();
  ranks_.clear();
  for (const ListedPart& part : listing) {
    const auto* header = std::get_if<ChunkHeader>(&part);
    if (!header || header->kind != ChunkKind::kEvents) continue;
    auto& seqs = ranks_[header->rank].seqs;
    if (places_.emplace(header->seq, EventsPlace{header->rank, seqs.size()}).second)
      seqs.push_back(header->seq);
  }
}

void RemoteSource::list(const Take& take, const Problem& problem) {
  const MutexLock lock(mutex_);
  EventSummaries summaries;
  std::vector<ListedPart> listing = receiveListing(summaries);
  notePlaces(listing);
  for (ListedPart& part : listing) {
    try {
      if (auto* chunk = std::get_if<Chunk>(&part))
        take({*chunk, {}}, [&] { return std::move(*chunk); });
      else if (auto* header = std::get_if<ChunkHeader>(&part)) {
        ChunkInfo info{*header, {}};
        attachSummary(info, summaries);
        take(info, [&]() RINGSCOPE_REQUIRES(mutex_) { return readNow(info.seq); });
      } else {
        problem(std::get<ServedProblem>(part).sentence);
      }
    } catch (const Error& error) {
      problem(error.what());
    }
  }
}

Chunk RemoteSource::read(std::uint64_t seq) {
  const MutexLock lock(mutex_);
  return readNow(seq);
}

Chunk RemoteSource::readNow(std::uint64_t seq) {
  if (auto ahead = takeAhead(seq)) return std::move(*ahead);
  const std::vector<std::uint64_t> more = chooseAhead(seq);
  connection_->send(ReadRequest{seq});
  for (const std::uint64_t next : more) connection_->send(ReadRequest{next});
  auto answer = receiveChunk(seq);
  try {
    for (const std::uint64_t next : more) {
      auto ahead = receiveChunk(next);
      if (auto* chunk = std::get_if<Chunk>(&ahead)) keepAhead(std::move(*chunk));
    }
  } catch (const Error&) {  // the next read reports that the connection is lost
  }
  if (const auto* refusal = std::get_if<Refusal>(&answer)) throw inputError(refusal->sentence);
  return std::move(std::get<Chunk>(answer));
}

std::variant<Chunk, Refusal> RemoteSource::receiveChunk(std::uint64_t seq) {
  ServeMessage message = connection_->receive();
  if (auto* refusal = std::get_if<Refusal>(&message)) return std::move(*refusal);
  auto* chunk = std::get_if<Chunk>(&message);
  if (!chunk || chunk->seq != seq) connection_->reject("an answer that was not asked for");
  if (places_.contains(seq) && chunk->kind != ChunkKind::kEvents)
    return Refusal{describe(*chunk) + " is found where events are listed"};
  return upgradedOrRefused(std::move(*chunk), connection_->format());
}

/// Returns the chunks that the same thread will probably read next: those of the same rank, when
/// the chunk before `seq` was read last.
std::vector<std::uint64_t> RemoteSource::chooseAhead(std::uint64_t seq) {
  const auto place = places_.find(seq);
  if (place == places_.end()) return {};
  RankChunks& rank = ranks_.at(place->second.rank);
  const bool goes_on = place->second.index > 0 && place->second.index == rank.next;
  rank.next = place->second.index + 1;
  std::vector<std::uint64_t> more;
  for (std::size_t i = rank.next; goes_on && i < rank.seqs.size() && more.size() + 1 < kBatch; ++i)
    if (!ahead_.contains(rank.seqs[i])) more.push_back(rank.seqs[i]);
  return more;
}

void RemoteSource::keepAhead(Chunk chunk) {
  if (ahead_bytes_ > kMostAheadBytes) {
    ahead_.clear();
    ahead_bytes_ = 0;
  }
  const std::uint64_t seq = chunk.seq;
  ahead_bytes_ += chunk.body.size();
  ahead_.insert_or_assign(seq, std::move(chunk));
}

std::optional<Chunk> RemoteSource::takeAhead(std::uint64_t seq) {
  const auto found = ahead_.find(seq);
  if (found == ahead_.end()) return std::nullopt;
  Chunk chunk = std::move(found->second);
  ahead_bytes_ -= chunk.body.size();
  ahead_.erase(found);
  if (const auto place = places_.find(seq); place != places_.end())
    ranks_.at(place->second.rank).next = place->second.index + 1;
  return chunk;
}

std::optional<Bytes> RemoteSource::values(TensorId tensor) {
  const MutexLock lock(mutex_);
  const auto id = static_cast<std::uint64_t>(tensor.value());
  connection_->send(ValuesRequest{id});
  ServeMessage message = connection_->receive();
  if (std::holds_alternative<NoValues>(message)) return std::nullopt;
  if (const auto* refusal = std::get_if<Refusal>(&message)) throw inputError(refusal->sentence);
  auto* chunk = std::get_if<Chunk>(&message);
  if (!chunk || chunk->kind != ChunkKind::kValues || chunk->key != id)
    connection_->reject("an answer that was not asked for");
  return std::move(chunk->body);
}

namespace {

/// The sizes of the recordings that this process has opened.
class Sizes {
 public:
  void set(const std::string& address, std::uint64_t bytes) RINGSCOPE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    bytes_[address] = bytes;
  }
  std::uint64_t get(const std::string& address) RINGSCOPE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto found = bytes_.find(address);
    return found == bytes_.end() ? 0 : found->second;
  }

 private:
  Mutex mutex_;
  std::map<std::string, std::uint64_t> bytes_ RINGSCOPE_GUARDED_BY(mutex_);
};

Sizes& sizes() {
  static Sizes all;
  return all;
}

}  // namespace

std::shared_ptr<RemoteSource> openRemote(const std::string& address) {
  auto connection = std::make_unique<RemoteConnection>(parseRemoteAddress(address));
  sizes().set(address, connection->bytes());
  return std::make_shared<RemoteSource>(std::move(connection));
}

std::uint64_t remoteSize(const std::string& address) {
  return sizes().get(address);
}

}  // namespace ringscope::traces
