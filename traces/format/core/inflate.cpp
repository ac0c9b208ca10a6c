// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <string>

namespace ringscope::traces {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::size_t kStep = std::size_t{1} << 18;

/// A stream of zlib that is closed at the end of its scope.
class Stream {
 public:
  Stream() : is_open_(inflateInit2(&z_, kGzipOnly) == Z_OK) {}
  ~Stream() {
    if (is_open_) inflateEnd(&z_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool isOpen() const { return is_open_; }
  z_stream* operator->() { return &z_; }
  z_stream* get() { return &z_; }

 private:
  z_stream z_{};
  bool is_open_;
};

}  // namespace

bool beginsAsGzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b\x08");
}

Inflated inflate(std::string_view gzip, std::uint64_t most_bytes) {
  Inflated result;
  Stream stream;
  if (!stream.isOpen()) return {"", "there is too little memory to decompress it", false};
  std::size_t next = 0;
  int status = Z_OK;
  for (;;) {
    if (stream->avail_in == 0) {
      const std::size_t count =
          std::min<std::size_t>(gzip.size() - next, std::numeric_limits<uInt>::max());
      stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data() + next));
      stream->avail_in = static_cast<uInt>(count);
      next += count;
    }
    if (status == Z_STREAM_END) {  // another member may follow
      const std::string_view rest(reinterpret_cast<const char*>(stream->next_in), stream->avail_in);
      if (!beginsAsGzip(rest)) return result;
      inflateReset(stream.get());
    }
    const std::size_t had = result.bytes.size();
    const auto room = std::min<std::uint64_t>(kStep, most_bytes - had + 1);
    result.bytes.resize(had + static_cast<std::size_t>(room));
    stream->next_out = reinterpret_cast<Bytef*>(result.bytes.data() + had);
    stream->avail_out = static_cast<uInt>(room);
    status = ::inflate(stream.get(), Z_NO_FLUSH);
    result.bytes.resize(result.bytes.size() - stream->avail_out);
    result.full = result.bytes.size() > most_bytes;
    if (result.full) result.bytes.resize(static_cast<std::size_t>(most_bytes));
    if (result.full) return result;
    if (status != Z_OK && status != Z_STREAM_END) {
      const std::size_t read = next - stream->avail_in;
      result.damage = std::string(status == Z_BUF_ERROR ? "it is cut" : "it is damaged") +
                      " at byte " + std::to_string(read);
      return result;
    }
  }
}

}  // namespace ringscope::traces
