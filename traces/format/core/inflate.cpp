// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/inflate.h"

#include <zlib.h>

#include <algorithm>

namespace ringscope::traces {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr std::size_t kStep = std::size_t{1} << 18;

/// Bytes in memory as a stream.
class View : public std::streambuf {
 public:
  explicit View(std::string_view bytes) {
    char* begin = const_cast<char*>(bytes.data());  // never written
    setg(begin, begin, begin + bytes.size());
  }
};

}  // namespace

/// A stream of zlib that is closed at the end of its scope.
struct GzipReader::Stream {
  Stream() : is_open(inflateInit2(&z, kGzipOnly) == Z_OK) {}
  ~Stream() {
    if (is_open) inflateEnd(&z);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  z_stream z{};
  bool is_open;
};

bool beginsAsGzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b\x08");
}

GzipReader::GzipReader(std::istream& in)
    : in_(in),
      stream_(std::make_unique<Stream>()),
      compressed_(kStep, '\0'),
      content_(kStep, '\0') {
  if (!stream_->is_open) damage_ = "there is too little memory to decompress it";
  ended_ = !stream_->is_open;
}

GzipReader::~GzipReader() = default;

/// Reads more compressed bytes behind the unused ones. Returns false at the end of the file.
bool GzipReader::refill() {
  z_stream& z = stream_->z;
  std::copy_n(z.next_in, z.avail_in, reinterpret_cast<Bytef*>(compressed_.data()));
  in_.read(compressed_.data() + z.avail_in, static_cast<std::streamsize>(kStep - z.avail_in));
  const auto count = static_cast<uInt>(in_.gcount());
  z.next_in = reinterpret_cast<Bytef*>(compressed_.data());
  z.avail_in += count;
  read_ += count;
  return count > 0;
}

GzipReader::int_type GzipReader::underflow() {
  constexpr std::size_t kHead = 3;
  z_stream& z = stream_->z;
  while (!ended_) {
    const bool more = z.avail_in > kHead || refill();
    if (member_ended_) {  // another member may follow
      ended_ = !beginsAsGzip({reinterpret_cast<const char*>(z.next_in), z.avail_in});
      if (ended_) break;
      inflateReset(&z);
      member_ended_ = false;
    }
    z.next_out = reinterpret_cast<Bytef*>(content_.data());
    z.avail_out = static_cast<uInt>(content_.size());
    const int status = ::inflate(&z, Z_NO_FLUSH);
    const std::size_t size = content_.size() - z.avail_out;
    member_ended_ = status == Z_STREAM_END;
    const bool cut = status == Z_BUF_ERROR && !more && size == 0;
    if (cut || (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)) {
      damage_ = std::string(cut ? "it is cut" : "it is damaged") + " at byte " +
                std::to_string(read_ - z.avail_in);
      ended_ = true;
    }
    if (size == 0) continue;
    setg(content_.data(), content_.data(), content_.data() + size);
    return traits_type::to_int_type(content_.front());
  }
  return traits_type::eof();
}

Inflated inflate(std::string_view gzip, std::uint64_t most_bytes) {
  View view(gzip);
  std::istream in(&view);
  GzipReader reader(in);
  Inflated result;
  while (reader.sgetc() != std::char_traits<char>::eof()) {
    result.full = result.bytes.size() >= most_bytes;
    if (result.full) return result;
    const std::size_t had = result.bytes.size();
    const auto room = std::min<std::uint64_t>(kStep, most_bytes - had);
    result.bytes.resize(had + static_cast<std::size_t>(room));
    const auto count = reader.sgetn(result.bytes.data() + had, static_cast<std::streamsize>(room));
    result.bytes.resize(had + static_cast<std::size_t>(count));
  }
  result.damage = reader.damage();
  return result;
}

}  // namespace ringscope::traces
