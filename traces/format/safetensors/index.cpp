// SPDX-License-Identifier: Apache-2.0
#include "traces/format/safetensors/index.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/json.h"

namespace ringscope::traces {
namespace {

std::uint64_t shapeBytes(const SafeTensorPlace& place, const std::string& source,
                         const std::string& name) {
  const auto refused = [&](const std::string& why) {
    return inputError(source + ": '" + name + "' " + why);
  };
  std::uint64_t bytes = safeTensorElementSize(place.dtype);
  if (bytes == 0) throw refused("has the unknown type " + place.dtype);
  for (const std::int64_t extent : place.shape) {
    if (extent < 0) throw refused("has a negative extent");
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      throw refused("is impossibly large");
  }
  return bytes;
}

/// Returns a JSON number as an integer. The JSON library would round a fraction and wrap a number
/// that is too large.
std::int64_t wholeNumber(const nlohmann::json& number, const std::string& source) {
  const bool fits = !number.is_number_unsigned() ||
                    number.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  if (!number.is_number_integer() || !fits)
    throw inputError(source + ": " + number.dump() + " in the safetensors header is no extent");
  return number.get<std::int64_t>();
}

/// Returns a tensor's place. The entry counts offsets from the end of the header.
SafeTensorPlace placeFor(const std::string& name, const nlohmann::json& entry,
                         const std::string& source) {
  SafeTensorPlace place;
  place.dtype = entry.at("dtype").get<std::string>();
  for (const nlohmann::json& extent : entry.at("shape"))
    place.shape.push_back(wholeNumber(extent, source));
  const nlohmann::json& offsets = entry.at("data_offsets");
  const std::int64_t begin = wholeNumber(offsets.at(0), source),
                     end = wholeNumber(offsets.at(1), source);
  if (begin < 0 || begin > end) throw inputError(source + ": '" + name + "' lies outside the file");
  place.begin = static_cast<std::uint64_t>(begin);
  place.size_bytes = static_cast<std::uint64_t>(end - begin);
  if (place.size_bytes != shapeBytes(place, source, name))
    throw inputError(source + ": the size of '" + name + "' does not fit its shape");
  return place;
}

void refuseOverlaps(const std::map<std::string, SafeTensorPlace>& tensors,
                    const std::string& source) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  ranges.reserve(tensors.size());
  for (const auto& [name, place] : tensors)
    ranges.emplace_back(place.begin, place.begin + place.size_bytes);
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) throw inputError(source + ": two tensors overlap");
}

}  // namespace

std::size_t safeTensorElementSize(const std::string& dtype) {
  static const std::map<std::string, std::size_t> kSizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  const auto at = kSizes.find(dtype);
  return at == kSizes.end() ? 0 : at->second;
}

std::uint64_t safeTensorsHeaderBytes(std::string_view first, std::uint64_t file_bytes,
                                     const std::string& source) {
  if (first.size() < 8) throw inputError(source + " is too short to be a safetensors file");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, first.data(), 8);
  if (header_bytes > kMaxJsonBytes || header_bytes > file_bytes - 8)
    throw inputError(source + " is not a safetensors file: its header claims " +
                     std::to_string(header_bytes) + " bytes");
  return header_bytes;
}

SafeTensorsIndex SafeTensorsIndex::parse(std::string_view json, std::uint64_t file_bytes,
                                         const std::string& source) {
  const nlohmann::json entries = parseJson(json, source + ": the safetensors header");
  if (!entries.is_object())
    throw inputError(source + ": the safetensors header is not a JSON object");
  SafeTensorsIndex index;
  try {
    for (const auto& [name, entry] : entries.items())
      if (name == "__metadata__")
        index.metadata = entry.get<std::map<std::string, std::string>>();
      else
        index.tensors.emplace(name, placeFor(name, entry, source));
  } catch (const nlohmann::json::exception&) {
    throw inputError(source + ": the safetensors header is not as the format says");
  }
  refuseOverlaps(index.tensors, source);
  for (auto& [name, place] : index.tensors) {
    place.begin += 8 + json.size();
    if (place.begin + place.size_bytes > file_bytes) index.cut_off.insert(name);
  }
  for (const std::string& name : index.cut_off) index.tensors.erase(name);
  return index;
}

SafeTensorsIndex SafeTensorsIndex::read(const std::string& path) {
  std::error_code error;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, error);
  if (error) throw inputError(path + ": " + error.message());
  const auto first = readFilePart(path, 0, std::min<std::uint64_t>(file_bytes, 8));
  const auto header_bytes = safeTensorsHeaderBytes(
      {reinterpret_cast<const char*>(first.data()), first.size()}, file_bytes, path);
  const auto header = readFilePart(path, 8, header_bytes);
  return parse({reinterpret_cast<const char*>(header.data()), header.size()}, file_bytes, path);
}

}  // namespace ringscope::traces
