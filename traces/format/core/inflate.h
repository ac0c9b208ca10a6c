// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

namespace ringscope::traces {

/// The content of compressed bytes.
struct Inflated {
  std::string bytes;
  std::string damage;  ///< why the bytes could not be read to their end; empty when they could
  bool full = false;   ///< there is more content than was asked for
};

/// Reports whether bytes begin as a gzip file does.
bool beginsAsGzip(std::string_view bytes);

/// Reads the content of a gzip file (RFC 1952), which can be larger than the memory. Damaged bytes
/// give the content before the damage.
class GzipReader : public std::streambuf {
 public:
  /// Makes a reader. `in` must outlive it.
  explicit GzipReader(std::istream& in);
  ~GzipReader() override;
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  /// Returns why the file could not be read to its end so far; empty: nothing prevented it.
  const std::string& damage() const { return damage_; }

 protected:
  int_type underflow() override;

 private:
  struct Stream;
  bool refill();

  std::istream& in_;
  std::unique_ptr<Stream> stream_;
  std::string compressed_, content_;
  std::uint64_t read_ = 0;  ///< bytes of `in`
  bool member_ended_ = false, ended_ = false;
  std::string damage_;
};

/// Returns the content of a gzip file, or its first `most_bytes` bytes. Damaged bytes give the
/// content before the damage.
Inflated inflate(std::string_view gzip, std::uint64_t most_bytes);

}  // namespace ringscope::traces
