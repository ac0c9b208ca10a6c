// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ringscope::traces {

/// Where a tensor of a safetensors file is.
struct SafeTensorPlace {
  std::string dtype;  ///< as the file spells it: F32, F64, BF16, F16, I32, I64, …
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< its first byte, counted from the file's first
  std::uint64_t size_bytes = 0;
};

/// What the header of a safetensors file says of its tensors, without their elements (format:
/// https://github.com/huggingface/safetensors). Untrusted input: the JSON, sizes against shapes and
/// overlaps are checked before anything is used.
struct SafeTensorsIndex {
  std::map<std::string, SafeTensorPlace> tensors;  ///< those that lie within the file
  std::set<std::string> cut_off;                   ///< names of those that do not
  std::map<std::string, std::string> metadata;

  /// Reads nothing but the header. Throws inputError with a sentence that names the file.
  static SafeTensorsIndex read(const std::string& path);
  /// Of a header that is the JSON after the first 8 bytes of a file of so many bytes.
  static SafeTensorsIndex parse(std::string_view json, std::uint64_t file_bytes,
                                const std::string& source);
};

/// The first bytes of a file, at least 8 if it has so many, say how long its header is. Throws
/// inputError where it cannot be of that length.
std::uint64_t safeTensorsHeaderBytes(std::string_view first, std::uint64_t file_bytes,
                                     const std::string& source);

/// Size in bytes of one element of a safetensors dtype; 0 when it is not known.
std::size_t safeTensorElementSize(const std::string& dtype);

}  // namespace ringscope::traces
