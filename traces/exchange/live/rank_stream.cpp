// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/live/rank_stream.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "traces/format/core/error.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {

Hello Hello::parse(std::string_view text) {
  const Line line = Line::read(text, "the first line");
  if (line.kind() != "hello" || line.text("ringscope") != "live")
    throw inputError("what connected is not RingScope's recorder");
  if (line.whole("version") != kLiveVersion)
    throw inputError("the recorder speaks version " + std::to_string(line.whole("version")) +
                     " of the live protocol; this program speaks version " +
                     std::to_string(kLiveVersion));
  Hello hello;
  const std::int64_t ranks = line.whole("world_size");
  hello.rank = line.rank("rank");
  if (ranks < 1 || ranks > kMaxRanks || hello.rank.isNone() || hello.rank.value() >= ranks)
    throw inputError("the recorder says that it is rank " + std::to_string(line.whole("rank")) +
                     " of " + std::to_string(ranks));
  hello.world_size = static_cast<int>(ranks);
  hello.token = line.text("token");
  hello.takes_pauses = line.flag("pauses");
  return hello;
}

RankStream::RankStream(const Hello& hello, std::string folder, const StreamLimits& limits)
    : rank_(hello.rank),
      world_size_(hello.world_size),
      folder_(std::move(folder)),
      limits_(limits) {
  file_ = NewFile(folder_ + "/" + stem() + ".jsonl");
}

std::string RankStream::stem() const {
  char name[24];
  std::snprintf(name, sizeof name, "rank-%05d", rank_.value());
  return name;
}

void RankStream::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (values_left_ > 0) {
      bytes = takeValues(bytes);
      continue;
    }
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (begun_.size() + part.size() > limits_.line_bytes)
      throw inputError("rank " + toString(rank_) + " sent a line of more than " +
                       std::to_string(limits_.line_bytes) + " bytes");
    if (end == std::string_view::npos) {
      begun_ += part;
      return;
    }
    bytes.remove_prefix(end + 1);
    if (begun_.empty()) {
      line(part);
    } else {
      begun_ += part;
      line(std::exchange(begun_, {}));
    }
  }
}

std::string_view RankStream::takeValues(std::string_view bytes) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(values_left_, bytes.size()));
  values_.write(bytes.substr(0, size));
  values_left_ -= size;
  if (values_left_ == 0) {
    values_.close(folder_ + "/" + values_name_);
    values_ = NewFile();
  }
  return bytes.substr(size);
}

void RankStream::line(std::string_view text) {
  const Line line = Line::read(text, "a line of rank " + toString(rank_));
  if (line.kind().empty())
    throw inputError("a line of rank " + toString(rank_) + " does not say what it is");
  if (!isOfTheStream(line)) keep(text, line);
}

/// Handles lines about the connection, which belong into no file. Returns false for any other line.
bool RankStream::isOfTheStream(const Line& line) {
  const std::string_view kind = line.kind();
  if (kind == "stands") {
    standing_ = Standing::of(line);
  } else if (kind == "border") {
    border_ = std::max(border_, line.whole("step"));
  } else if (kind == "held" || kind == "paused") {
    if (line.whole("step") < 0 || pause_words_.size() > 64) return true;
    held_ = kind == "paused";
    pause_words_.push_back({held_, line.whole("step")});
  } else if (kind == "went on") {
    held_ = false;
  } else if (kind == "values") {
    beginValues(line);
  } else {
    return kind == "bye" || kind == "hello";
  }
  return true;
}

void RankStream::beginValues(const Line& line) {
  char expected[64];
  std::snprintf(expected, sizeof expected, "%s.values-%04d.safetensors", stem().c_str(),
                values_files_);
  const std::int64_t size = line.whole("bytes");
  if (line.text("file") != expected || size < 8)
    throw inputError("rank " + toString(rank_) + " sent values as '" + line.text("file") +
                     "' where " + expected + " comes next");
  if (static_cast<std::uint64_t>(size) > limits_.values_bytes)
    throw inputError("rank " + toString(rank_) + " sent more values than are taken");
  limits_.values_bytes -= static_cast<std::uint64_t>(size);
  values_name_ = expected;
  ++values_files_;
  values_ = NewFile(folder_ + "/" + values_name_ + ".part");
  values_left_ = static_cast<std::uint64_t>(size);
}

void RankStream::keep(std::string_view text, const Line& line) {
  const std::string_view kind = line.kind();
  if ((lines_ == 0) != (kind == "header"))
    throw inputError("the lines of rank " + toString(rank_) + " do not begin with one header");
  if (lines_ == 0 &&
      (line.whole("rank") != rank_.value() || line.whole("world_size") != world_size_))
    throw inputError("rank " + toString(rank_) + " sent the lines of another rank");
  if (text.size() + 1 > limits_.lines_bytes)
    throw inputError("rank " + toString(rank_) + " sent more lines than are taken");
  limits_.lines_bytes -= text.size() + 1;
  std::string whole(text);
  file_.write(whole += '\n');
  ++lines_;
  ended_ = ended_ || kind == "end";
}

std::vector<RankStream::PauseWord> RankStream::takePauseWords() {
  return std::exchange(pause_words_, {});
}

}  // namespace ringscope::traces
