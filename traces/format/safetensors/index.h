// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ringscope::traces {

/// The place of a tensor in a safetensors file.
struct SafeTensorPlace {
  std::string dtype;  ///< as the file spells it: F32, F64, BF16, F16, I32, I64, …
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< offset of its first byte from the start of the file
  std::uint64_t size_bytes = 0;
};

/// The tensors that the header of a safetensors file describes, without their elements (format:
/// https://github.com/huggingface/safetensors). The header is untrusted input: the JSON, sizes,
/// shapes and overlaps are checked before use.
struct SafeTensorsIndex {
  std::map<std::string, SafeTensorPlace> tensors;  ///< tensors that lie within the file
  std::set<std::string> cut_off;                   ///< names of tensors that lie partly beyond its
                                                   ///< end
  std::map<std::string, std::string> metadata;

  /// Reads only the header. Throws inputError with a message that names the file.
  static SafeTensorsIndex read(const std::string& path);
  /// Parses a header: the JSON after the first 8 bytes of a file of `file_bytes` bytes.
  static SafeTensorsIndex parse(std::string_view json, std::uint64_t file_bytes,
                                const std::string& source);
};

/// Returns the length of the header, which the first 8 bytes of a file give. The argument `first`
/// holds the first bytes of the file, at least 8 if the file has them. Throws inputError when the
/// header cannot have that length.
std::uint64_t safeTensorsHeaderBytes(std::string_view first, std::uint64_t file_bytes,
                                     const std::string& source);

/// Returns the size in bytes of one element of a safetensors dtype; 0 when the dtype is unknown.
std::size_t safeTensorElementSize(const std::string& dtype);

}  // namespace ringscope::traces
