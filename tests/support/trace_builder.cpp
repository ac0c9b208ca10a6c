// SPDX-License-Identifier: Apache-2.0
#include "tests/support/trace_builder.h"

#include <cstring>
#include <map>
#include <sstream>

#include "tests/support/tensor_stats.h"
#include "traces/format/core/hash.h"

namespace ringscope::test {
namespace {

using namespace traces;

/// One line: its first word, the words without "=", and the other words by name.
class Line {
 public:
  explicit Line(const std::string& text) : text_(text) {
    std::istringstream in(text);
    in >> kind_;
    for (std::string word; in >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos)
        words_.push_back(word);
      else
        values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  const std::string& kind() const { return kind_; }
  const std::string& text() const { return text_; }
  bool has(const std::string& name) const { return values_.contains(name); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw usageError("the line '" + text_ + "' " + why);
  }
  const std::string& word(std::size_t index) const {
    if (index >= words_.size()) refuse("lacks a word");
    return words_[index];
  }
  std::string value(const std::string& name, const std::string& otherwise = "") const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    return has(name) ? std::stoll(value(name)) : otherwise;
  }
  double real(const std::string& name, double otherwise) const {
    return has(name) ? std::stod(value(name)) : otherwise;
  }
  std::vector<std::string> list(const std::string& text, char separator) const {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
  }
  /// Returns a shape, "2x3".
  std::vector<std::int64_t> extents(const std::string& name) const {
    std::vector<std::int64_t> shape;
    for (const auto& extent : list(value(name), 'x')) shape.push_back(std::stoll(extent));
    return shape;
  }
  std::pair<std::int64_t, std::int64_t> range(const std::string& name) const {
    const auto ends = list(value(name, "0-0"), '-');
    if (ends.size() != 2) refuse("has no range A-B as " + name);
    return {std::stoll(ends[0]), std::stoll(ends[1])};
  }
  WorldRank rank(const std::string& name, std::int64_t otherwise = -1) const {
    return WorldRank::of(integer(name, otherwise));
  }
  std::vector<WorldRank> ranks(const std::string& text) const {
    std::vector<WorldRank> all;
    for (const auto& part : list(text, ',')) all.push_back(WorldRank::of(std::stoi(part)));
    return all;
  }
  template <NamedEnum E>
  E named(const std::string& name, E otherwise) const {
    return has(name) ? parse<E>(value(name)) : otherwise;
  }
  std::optional<std::int32_t> microbatch() const {
    if (!has("microbatch")) return std::nullopt;
    return static_cast<std::int32_t>(integer("microbatch", 0));
  }
  Place place(Direction otherwise = Direction::kForward) const {
    return {static_cast<std::int32_t>(integer("step", 0)), Layer::of(integer("layer", -1)),
            named("direction", otherwise), RingStep::of(integer("stage", -1))};
  }

 private:
  std::string text_, kind_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> values_;
};

/// Sets every setting of a run by its name.
void addRun(Trace& trace, const Line& line) {
  RunSpec run;
  run.model.layers = line.integer("layers", 1);
  run.model.heads = line.integer("heads", 1);
  run.model.kv_heads = line.integer("kv_heads", 0);
  nlohmann::json json = nlohmann::json::object();
  Fields<RunSpec>::visit(
      [&]<typename V>(const char* field, V&) {
        if (!line.has(field)) return;
        if constexpr (std::integral<V> && !std::is_same_v<V, bool>)
          json[field] = line.integer(field, 0);
        else if constexpr (std::is_same_v<V, bool>)
          json[field] = line.value(field) == "true";
        else if constexpr (std::is_same_v<V, double>)
          json[field] = line.real(field, 0);
        else
          json[field] = line.value(field);
      },
      run);
  fromJson(json, run, "the line '" + line.text() + "'");
  trace.add(run);
}

void addIntent(Trace& trace, const Line& line) {
  IntentRecord intent;
  intent.train_step = static_cast<std::int32_t>(line.integer("step", 0));
  intent.ranks = line.ranks(line.value("ranks"));
  intent.microbatch = line.microbatch();
  intent.mask = line.named("mask", intent.mask);
  intent.window = line.integer("window", 0);
  intent.balance = line.named("balance", intent.balance);
  intent.positions = line.named("positions", intent.positions);
  intent.loss = line.named("loss", intent.loss);
  for (const auto& document : line.list(line.value("documents"), ',')) {
    const auto ends = line.list(document, '-');
    intent.documents.push_back({std::stoll(ends.at(0)), std::stoll(ends.at(1))});
  }
  trace.add(intent);
}

void addShard(Trace& trace, const Line& line) {
  ShardRecord shard;
  shard.buffer = line.word(0);
  shard.train_step = static_cast<std::int32_t>(line.integer("step", 0));
  shard.rank = line.rank("rank", 0);
  shard.microbatch = line.microbatch();
  shard.sharded = line.value("sharded", "yes") == "yes";
  shard.seq_dim = static_cast<std::int32_t>(line.integer("dim", 1));
  std::int64_t tokens = 0;
  for (const auto& run : line.list(line.value("tokens"), ',')) {
    const auto ends = line.list(run, '-');
    shard.global_from_local.push_back({std::stoll(ends.at(0)), std::stoll(ends.at(1))});
    tokens += shard.global_from_local.back().end - shard.global_from_local.back().begin;
  }
  shard.local_shape = {1, line.integer("length", tokens)};
  if (line.has("local")) shard.local_shape = line.extents("local");
  shard.full_shape = line.extents("full");
  trace.add(shard);
}

void addTensor(Trace& trace, const Line& line) {
  TensorRecord tensor;
  tensor.tensor = TensorName::of(line.word(0));
  const bool of_backward = line.word(0)[0] == 'd' || line.word(0).starts_with("grad");
  tensor.place = line.place(of_backward ? Direction::kBackward : Direction::kForward);
  tensor.pass = tensor.place.direction == Direction::kForward ? Pass::kForward : Pass::kBackward;
  tensor.rank = line.rank("rank", 0);
  tensor.source_rank = line.rank("source");
  tensor.piece = PieceIndex::of(line.integer("piece", -1));
  tensor.microbatch = line.microbatch().value_or(0);
  tensor.dtype = DType::kFloat64;
  tensor.id = TensorId::of(trace.tensors().size() + 1);
  tensor.shape = line.extents("shape");
  std::vector<double> values;
  for (const auto& value : line.list(line.value("values"), ',')) values.push_back(std::stod(value));
  tensor.has_values = !values.empty();
  tensor.stats = computeStats(values);
  tensor.stats.min = line.real("min", tensor.stats.min);
  tensor.stats.max = line.real("max", tensor.stats.max);
  tensor.stats.abs_max = line.real("abs_max", tensor.stats.abs_max);
  tensor.stats.nan = line.integer("nan", tensor.stats.nan);
  tensor.stats.inf = line.integer("inf", tensor.stats.inf);
  Bytes bytes(values.size() * sizeof(double));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  tensor.hash = line.has("hash") ? static_cast<std::uint64_t>(line.integer("hash", 0))
                                 : mixSum64(bytes.data(), bytes.size());
  if (const auto by = findByName<HashAlgorithm>(line.value("hash_by"))) tensor.hash_algorithm = *by;
  if (tensor.has_values) trace.addValues(tensor.id, std::move(bytes));
  trace.add(std::vector{tensor});
}

void addEvent(Trace& trace, const Line& line, EventKind kind) {
  Event event;
  event.kind = kind;
  event.place = line.place();
  event.rank = line.rank("rank", 0);
  event.microbatch = line.microbatch().value_or(0);
  event.peer = line.rank("peer");
  event.source_rank = line.rank("source");
  event.group = GroupId::of(line.integer("group", -1));
  event.piece = PieceIndex::of(line.integer("piece", -1));
  event.payload = line.named("payload", event.payload);
  event.mask = line.named("mask", event.mask);
  event.pass = event.place.direction == Direction::kForward ? Pass::kForward : Pass::kBackward;
  event.flow = static_cast<std::uint64_t>(line.integer("flow", 0));
  event.exchange = static_cast<std::uint32_t>(line.integer("exchange", 0));
  event.bytes = line.integer("bytes", 0);
  event.cpu_ns = line.integer("cpu", 0);
  if (line.integer("device", 0) == 1) event.clock = Clock::kDevice;
  std::tie(event.begin_ns, event.end_ns) = line.range("time");
  event.start_ns = line.integer("start", event.begin_ns);
  auto rows = [&](const char* name, std::int32_t& begin, std::int32_t& end) {
    const auto range = line.range(name);
    begin = static_cast<std::int32_t>(range.first);
    end = static_cast<std::int32_t>(range.second);
  };
  rows("q", event.q_begin, event.q_end);
  rows("k", event.k_begin, event.k_end);
  trace.add(std::span<const Event>(&event, 1));
}

void addDiff(Trace& trace, const Line& line) {
  DiffRecord diff;
  diff.tensor = line.word(0);
  diff.isolated = line.value("isolated", "yes") == "yes";
  diff.place = line.place(diff.tensor[0] == 'd' ? Direction::kBackward : Direction::kForward);
  diff.error = line.real("error", 0);
  diff.limit = line.real("limit", 0);
  diff.scale = line.real("scale", 0);
  diff.ratio = line.real("ratio", 0);
  trace.add(diff);
}

void addGroup(Trace& trace, const Line& line) {
  GroupRecord group{GroupId::of(trace.groups().size() + trace.microbatchGroups().size()),
                    parse<GroupAxis>(line.word(0)), line.ranks(line.word(1))};
  if (const auto microbatch = line.microbatch())
    group.microbatches = {{line.place().train_step, *microbatch}};
  trace.add(group);
}

void addMemory(Trace& trace, const Line& line) {
  const MemorySample sample{line.integer("time", 0), line.integer("bytes", 0), line.rank("rank", 0),
                            parse<MemoryCategory>(line.word(0))};
  trace.add(std::span<const MemorySample>(&sample, 1));
}

void addNote(Trace& trace, const Line& line) {
  const std::string& key = line.word(0);
  trace.add(Note{key, line.text().substr(line.text().find(key) + key.size())});
}

void addEnd(Trace& trace, const Line& line) {
  EndRecord end;
  end.events = trace.eventCount();
  end.dropped_events = static_cast<std::uint64_t>(line.integer("dropped", 0));
  end.run_clock_ns = trace.endNs();
  trace.add(end);
}

}  // namespace

std::shared_ptr<Trace> makeTrace(std::string_view text) {
  static const std::map<std::string, void (*)(Trace&, const Line&)> kRecords = {
      {"run", addRun},       {"intent", addIntent}, {"shard", addShard},
      {"tensor", addTensor}, {"diff", addDiff},     {"group", addGroup},
      {"memory", addMemory}, {"note", addNote},     {"end", addEnd}};
  auto trace = std::make_shared<Trace>();
  std::istringstream in{std::string(text)};
  for (std::string text_line; std::getline(in, text_line);) {
    const Line line(text_line.substr(0, text_line.find('#')));
    if (line.kind().empty()) continue;
    if (const auto known = kRecords.find(line.kind()); known != kRecords.end())
      known->second(*trace, line);
    else if (const auto event = findByName<EventKind>(line.kind()))
      addEvent(*trace, line, *event);
    else
      line.refuse("begins with no record or event that there is");
  }
  return trace;
}

}  // namespace ringscope::test
