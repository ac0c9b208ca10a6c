// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/redaction.h"

#include <algorithm>
#include <array>
#include <random>
#include <sstream>

#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/schema/other_tensors.h"

namespace ringscope::traces {
namespace {

constexpr const char* kLeftOut = "(path left out)";

/// Reports whether a field of a note states when or where something ran.
bool isOfHost(const std::string& field) {
  static constexpr std::array kFields = {"boot_id", "unix_ns", "host", "hostname", "node"};
  return std::ranges::find(kFields, field) != kFields.end();
}

bool isWithinPath(char c) {
  return !std::isspace(static_cast<unsigned char>(c)) &&
         std::string_view("\"'`:,;()[]{}<>|").find(c) == std::string_view::npos;
}

/// Reports whether a path may begin after this character.
bool isBorder(char c) {
  return !isWithinPath(c) || c == '=';
}

void redactJson(nlohmann::json& json, const Redaction& what) {
  if (json.is_string() && what.paths) json = withoutPaths(json.get<std::string>());
  if (json.is_object() && what.hosts)
    for (auto field = json.begin(); field != json.end();)
      field = isOfHost(field.key()) ? json.erase(field) : std::next(field);
  if (json.is_structured())
    for (nlohmann::json& part : json) redactJson(part, what);
}

template <typename Record>
Chunk reencoded(Chunk chunk, const std::vector<Record>& records) {
  chunk.body = encodeRows<Record>(records);
  chunk.rows = static_cast<std::uint32_t>(records.size());
  return chunk;
}

}  // namespace

std::string withoutPaths(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = text[i] == '/' && (i == 0 || isBorder(text[i - 1])) &&
                        i + 1 < text.size() && isWithinPath(text[i + 1]) && text[i + 1] != '/';
    if (!begins) {
      plain += text[i++];
      continue;
    }
    plain += kLeftOut;
    while (i < text.size() && isWithinPath(text[i])) ++i;
  }
  return plain;
}

Redaction Redaction::parse(const std::string& list) {
  Redaction what;
  std::stringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const bool all = part == "all";
    if (!all && part != "tokens" && part != "weights" && part != "paths" && part != "hosts")
      throw usageError("--without: '" + part +
                       "' is nothing that can be left out; name tokens, weights, paths, hosts or "
                       "all");
    what.tokens = what.tokens || all || part == "tokens";
    what.weights = what.weights || all || part == "weights";
    what.paths = what.paths || all || part == "paths";
    what.hosts = what.hosts || all || part == "hosts";
  }
  return what;
}

Redactor::Redactor(const Redaction& what) : what_(what) {
  std::random_device random;
  secret_ = (static_cast<std::uint64_t>(random()) << 32) ^ random();
}

bool Redactor::leavesOut(const TensorName& tensor) const {
  const bool of_tokens =
      tensor.kind == TensorKind::kLogits ||  // logits reveal the next token
      (tensor.kind == TensorKind::kBuffer &&
       (tensor.name == "input_ids" || tensor.name == "labels" || tensor.name == "shift_labels")) ||
      (tensor.kind == TensorKind::kOther && tensor.name == kWholeBatch);
  const bool of_weights =
      tensor.kind == TensorKind::kWeight || tensor.kind == TensorKind::kGradient;
  return (of_tokens && what_.tokens) || (of_weights && what_.weights);
}

void Redactor::look(const Chunk& tensors) {
  for (const TensorRecord& record : decodeRows<TensorRecord>(tensors))
    if (!leavesOut(record.tensor)) shared_.insert(record.id);
}

Chunk Redactor::withoutValues(Chunk tensors) const {
  auto records = decodeRows<TensorRecord>(tensors);
  for (TensorRecord& record : records) {
    if (!leavesOut(record.tensor)) continue;
    record.has_values = false;
    // The finalizer of MurmurHash3: every bit of the secret affects every bit of the result.
    std::uint64_t mixed = record.hash ^ secret_;
    mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccdULL;
    mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    record.hash = (mixed ^ (mixed >> 33)) + secret_;
  }
  return reencoded(std::move(tensors), records);
}

Chunk Redactor::withoutPaths(Chunk run) const {
  auto runs = decodeRows<RunSpec>(run);
  for (RunSpec& spec : runs) {
    for (std::string* path : {&spec.model_dir, &spec.tokens, &spec.tokenizer})
      if (!path->empty()) *path = kLeftOut;
    for (std::string& text : spec.text) text = kLeftOut;
  }
  return reencoded(std::move(run), runs);
}

Chunk Redactor::redactedNotes(Chunk notes) const {
  auto records = decodeRows<Note>(notes);
  for (Note& note : records) {
    nlohmann::json json = parseJson(note.json, "a note");
    redactJson(json, what_);
    note.json = json.dump();
  }
  return reencoded(std::move(notes), records);
}

Chunk Redactor::recounted(Chunk end) const {
  auto ends = decodeRows<EndRecord>(end);
  constexpr auto kValues = static_cast<std::size_t>(ChunkKind::kValues);
  for (EndRecord& record : ends) {
    if (record.rows_by_kind.size() <= kValues) throw inputError("the end does not count all kinds");
    std::uint64_t& values = record.rows_by_kind[kValues];
    values -= std::min(values, left_out_rows_);
  }
  return reencoded(std::move(end), ends);
}

std::optional<Chunk> Redactor::apply(Chunk chunk) {
  switch (chunk.kind) {
    case ChunkKind::kTensors:
      return withoutValues(std::move(chunk));
    case ChunkKind::kValues:
      if (shared_.contains(tensorIdFrom(chunk))) return chunk;
      left_out_rows_ += chunk.rows;
      return std::nullopt;
    case ChunkKind::kRun:
      return what_.paths ? withoutPaths(std::move(chunk)) : std::move(chunk);
    case ChunkKind::kNotes:
      return redactedNotes(std::move(chunk));
    case ChunkKind::kEnd:
      return recounted(std::move(chunk));
    default:
      return chunk;
  }
}

}  // namespace ringscope::traces
