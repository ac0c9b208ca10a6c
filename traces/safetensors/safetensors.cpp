// SPDX-License-Identifier: Apache-2.0
#include "traces/safetensors/safetensors.h"

#include <algorithm>
#include <limits>

#include "traces/core/input_file.h"
#include "traces/core/json.h"
#include "traces/core/output_file.h"

namespace ringscope::traces {
namespace {

std::uint64_t shapeBytes(const SafeTensorView& view, const std::string& source,
                         const std::string& name) {
  const auto refused = [&](const std::string& why) {
    return inputError(source + ": '" + name + "' " + why);
  };
  std::uint64_t bytes = safeTensorElementSize(view.dtype);
  if (bytes == 0) throw refused("has the unknown type " + view.dtype);
  for (const std::int64_t extent : view.shape) {
    if (extent < 0) throw refused("has a negative extent");
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      throw refused("is impossibly large");
  }
  return bytes;
}

/// The JSON library would round a fraction and wrap what is too large.
std::int64_t wholeNumber(const nlohmann::json& number, const std::string& source) {
  const bool fits = !number.is_number_unsigned() ||
                    number.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  if (!number.is_number_integer() || !fits)
    throw inputError(source + ": " + number.dump() + " in the safetensors header is no extent");
  return number.get<std::int64_t>();
}

}  // namespace

std::size_t safeTensorElementSize(const std::string& dtype) {
  static const std::map<std::string, std::size_t> kSizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  const auto at = kSizes.find(dtype);
  return at == kSizes.end() ? 0 : at->second;
}

SafeTensorsFile SafeTensorsFile::read(const std::string& path) {
  return parse(readFileBytes(path), path);
}

SafeTensorsFile SafeTensorsFile::parse(Bytes bytes, const std::string& source) {
  SafeTensorsFile file;
  file.source_ = source;
  file.bytes_ = std::move(bytes);
  if (file.bytes_.size() < 8) throw inputError(source + " is too short to be a safetensors file");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.bytes_.data(), 8);
  if (header_bytes > kMaxJsonBytes || header_bytes > file.bytes_.size() - 8)
    throw inputError(source + " is not a safetensors file: its header claims " +
                     std::to_string(header_bytes) + " bytes");
  file.parseEntries(
      std::string(reinterpret_cast<const char*>(file.bytes_.data()) + 8, header_bytes),
      8 + header_bytes);
  return file;
}

void SafeTensorsFile::parseEntries(const std::string& header, std::size_t data_begin) {
  using nlohmann::json;
  const json entries = parseJson(header, source_ + ": the safetensors header");
  if (!entries.is_object())
    throw inputError(source_ + ": the safetensors header is not a JSON object");
  const std::uint64_t data_bytes = bytes_.size() - data_begin;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  try {
    for (const auto& [name, entry] : entries.items()) {
      if (name == "__metadata__") {
        metadata_ = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      SafeTensorView view;
      view.dtype = entry.at("dtype").get<std::string>();
      for (const json& extent : entry.at("shape"))
        view.shape.push_back(wholeNumber(extent, source_));
      const json& offsets = entry.at("data_offsets");
      const auto begin = static_cast<std::uint64_t>(wholeNumber(offsets.at(0), source_));
      const auto end = static_cast<std::uint64_t>(wholeNumber(offsets.at(1), source_));
      if (begin > end || end > data_bytes)
        throw inputError(source_ + ": '" + name + "' lies outside the file");
      if (end - begin != shapeBytes(view, source_, name))
        throw inputError(source_ + ": the size of '" + name + "' does not fit its shape");
      view.data = bytes_.data() + data_begin + begin;
      view.size_bytes = end - begin;
      ranges.emplace_back(begin, end);
      tensors_.emplace(name, std::move(view));
    }
  } catch (const json::exception&) {
    throw inputError(source_ + ": the safetensors header is not as the format says");
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) throw inputError(source_ + ": two tensors overlap");
}

const SafeTensorView& SafeTensorsFile::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw inputError(source_ + " has no tensor '" + name + "'");
  return found->second;
}

namespace {

/// Everything before the data, whose offsets follow from the order of the entries.
void writeHeader(std::ostream& out, const std::vector<SafeTensorEntry>& entries,
                 const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const SafeTensorEntry& entry : entries) {
    header[entry.name] = {{"dtype", entry.dtype},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, offset + entry.size_bytes}}};
    offset += entry.size_bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = text.size();
  out.write(reinterpret_cast<const char*>(&header_bytes), 8);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace

void writeSafeTensors(std::ostream& out, const std::vector<SafeTensorEntry>& entries,
                      const std::map<std::string, std::string>& metadata,
                      const std::function<Bytes(std::size_t entry)>& data) {
  writeHeader(out, entries, metadata);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Bytes bytes = data(i);
    if (bytes.size() != entries[i].size_bytes)
      throw inputError("the values of " + entries[i].name + " changed while they were written");
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
}

void writeSafeTensors(const std::string& path, const std::map<std::string, SafeTensorView>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::vector<SafeTensorEntry> entries;
  entries.reserve(tensors.size());
  for (const auto& [name, view] : tensors)
    entries.push_back({name, view.dtype, view.shape, view.size_bytes});
  OutputFile file(path);
  writeHeader(file.stream(), entries, metadata);
  for (const auto& [name, view] : tensors)
    file.stream().write(reinterpret_cast<const char*>(view.data),
                        static_cast<std::streamsize>(view.size_bytes));
  file.finish();
}

}  // namespace ringscope::traces
