// SPDX-License-Identifier: Apache-2.0
#include "traces/query/trace.h"

#include <algorithm>
#include <bit>

#include "traces/storage/sqlite_source.h"

namespace ringscope::traces {
namespace {

constexpr int kMaxRanks = 4096;

nlohmann::json parsed(const Note& note) {
  auto json = nlohmann::json::parse(note.json, nullptr, false);
  if (json.is_discarded()) throw inputError("the note '" + note.key + "' of the trace is not JSON");
  return json;
}

double halfToDouble(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1F;
  const int fraction = half & 0x3FF;
  double value = exponent == 31  ? (fraction ? std::numeric_limits<double>::quiet_NaN()
                                             : std::numeric_limits<double>::infinity())
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(fraction + 1024, exponent - 25);
  return half & 0x8000 ? -value : value;
}

template <typename T>
T load(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double element(DType dtype, const Bytes& bytes, std::size_t i) {
  switch (dtype) {
    case DType::kFloat32:
      return load<float>(bytes, i);
    case DType::kFloat64:
      return load<double>(bytes, i);
    case DType::kBFloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(bytes, i)) << 16);
    case DType::kFloat16:
      return halfToDouble(load<std::uint16_t>(bytes, i));
    case DType::kInt32:
      return load<std::int32_t>(bytes, i);
    case DType::kInt64:
      return static_cast<double>(load<std::int64_t>(bytes, i));
    case DType::kCount:
      break;
  }
  return 0;
}

}  // namespace

std::vector<double> decodeValues(const TensorRecord& tensor, const Bytes& bytes) {
  std::size_t count = 1;
  for (const auto extent : tensor.shape) {
    if (extent < 0 || (extent > 0 && count > kMaxChunkBytes / static_cast<std::size_t>(extent)))
      throw inputError("the tensor '" + tensor.name + "' has an impossible shape");
    count *= static_cast<std::size_t>(extent);
  }
  if (bytes.size() != count * sizeOf(tensor.dtype))
    throw inputError("the values of '" + tensor.name + "' do not fit its shape");
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = element(tensor.dtype, bytes, i);
  return values;
}

Trace::Trace(LoadValues load_values) : load_values_(std::move(load_values)) {}

std::size_t Trace::checkedRank(int rank) {
  if (rank < 0 || rank >= kMaxRanks)
    throw inputError("the trace names rank " + std::to_string(rank) + ", which cannot be");
  const auto index = static_cast<std::size_t>(rank);
  if (index >= events_.size()) {
    events_.resize(index + 1);
    memory_.resize(index + 1);
  }
  return index;
}

void Trace::add(const Chunk& chunk) {
  switch (chunk.kind) {
    case ChunkKind::kEvents:
      addEvents(chunk);
      break;
    case ChunkKind::kTensors:
      for (auto& tensor : decodeTensors(chunk)) {
        tensor_index_[tensor.name].try_emplace({tensor.place, tensor.rank}, tensors_.size());
        tensors_.push_back(std::move(tensor));
      }
      break;
    case ChunkKind::kValues:
      kept_values_[chunk.key] = chunk.body;
      break;
    case ChunkKind::kMemory:
      for (const auto& sample : decodeMemory(chunk))
        memory_[checkedRank(sample.rank)].push_back(sample);
      break;
    case ChunkKind::kShards: {
      ShardRecord shard = decodeShard(chunk);
      shard_index_.try_emplace({shard.buffer, shard.train_step, shard.rank}, shards_.size());
      shards_.push_back(std::move(shard));
      break;
    }
    case ChunkKind::kDiffs:
      for (auto& diff : decodeDiffs(chunk)) diffs_.push_back(std::move(diff));
      break;
    case ChunkKind::kNotes: {
      const Note note = decodeNote(chunk);
      notes_.emplace_back(note.key, parsed(note));
      break;
    }
    case ChunkKind::kEnd:
      end_ = decodeEnd(chunk);
      break;
    case ChunkKind::kCount:
      break;
  }
}

void Trace::addEvents(const Chunk& chunk) {
  const auto events = decodeEvents(chunk);
  for (const Event& event : events) checkedRank(event.rank);
  for (const Event& event : events) {
    events_[static_cast<std::size_t>(event.rank)].push_back(event);
    end_ns_ = std::max(end_ns_, event.end_ns);
    if (event.place.stage >= 0) addMoment(event.place);
  }
}

void Trace::addMoment(const Place& place) {
  // Nearly always the newest one or one of the last few, since ranks are never far apart.
  const auto at = std::lower_bound(moments_.begin(), moments_.end(), place, before);
  if (at == moments_.end() || !(*at == place)) moments_.insert(at, place);
}

std::size_t Trace::eventCount() const {
  std::size_t count = 0;
  for (const auto& of_rank : events_) count += of_rank.size();
  return count;
}

const nlohmann::json& Trace::note(const std::string& key) const {
  static const nlohmann::json kNull;
  const auto at =
      std::find_if(notes_.rbegin(), notes_.rend(), [&](auto& n) { return n.first == key; });
  return at == notes_.rend() ? kNull : at->second;
}

const nlohmann::json& Trace::run() const {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  const nlohmann::json& run = note("run");
  return run.is_object() ? run : kEmpty;
}

bool Trace::PlaceAndRankBefore::operator()(const std::pair<Place, int>& a,
                                           const std::pair<Place, int>& b) const {
  if (before(a.first, b.first)) return true;
  return !before(b.first, a.first) && a.second < b.second;
}

const TensorRecord* Trace::findTensor(const std::string& name, const Place& place, int rank) const {
  const auto named = tensor_index_.find(name);
  if (named == tensor_index_.end()) return nullptr;
  const auto found = named->second.find({place, rank});
  return found == named->second.end() ? nullptr : &tensors_[found->second];
}

const ShardRecord* Trace::findShard(const std::string& buffer, int train_step, int rank) const {
  const auto found = shard_index_.find({buffer, train_step, rank});
  return found == shard_index_.end() ? nullptr : &shards_[found->second];
}

std::optional<std::vector<double>> Trace::values(const TensorRecord& tensor) const {
  if (!tensor.has_values) return std::nullopt;
  if (const auto kept = kept_values_.find(tensor.id); kept != kept_values_.end())
    return decodeValues(tensor, kept->second);
  if (!load_values_) return std::nullopt;
  const auto bytes = load_values_(tensor.id);
  if (!bytes) return std::nullopt;
  return decodeValues(tensor, *bytes);
}

std::shared_ptr<Trace> openTrace(const std::string& path) {
  auto source = std::make_shared<SqliteSource>(path);
  auto trace =
      std::make_shared<Trace>([source](std::uint64_t id) { return source->readValues(id); });
  source->readAll(
      [&](Chunk chunk) {
        try {
          trace->add(chunk);
        } catch (const Error& error) {
          trace->addProblem(error.what());
        }
      },
      [&](std::string sentence) { trace->addProblem(std::move(sentence)); });
  if (!trace->end())
    trace->addProblem("the recording was cut: the run was killed or is still going on");
  else if (trace->end()->events != trace->eventCount())
    trace->addProblem("events are missing: " + std::to_string(trace->end()->events) +
                      " were recorded, " + std::to_string(trace->eventCount()) + " are readable");
  return trace;
}

}  // namespace ringscope::traces
